"""What a message asks for: a change or not, small talk, or more of what came before. English and German."""

import pytest

from jupyter_pernix.agent.requests import is_change, is_follow_up, is_small_talk

CHANGES = [
    "Fix the bug in a.py",
    "Please add a test for load()",
    "can you fix this?",
    "Could you please rename foo to bar?",
    "I'd like you to refactor the parser",
    "Write a file hello.txt",
    "create a notebook that plots x",
    "Write tests for utils",
    "check the tests and fix them",
    "let's move x to y.py",
    "The importer is broken. Fix it.",
    "Make the tests pass",
    "ok, then delete the old file",
    "Set x to 2 in a.py",
    "Implement quicksort in sort.py",
    "1. Add a\n2. Remove b",
    "Change the colour to red!",
    "I need you to update the docs",
    "Why is this slow? Fix it.",
    "fix",
    "Would you mind removing the print statements?",
    "Thanks! Now rename the class.",
    "We should split this module.",
    "- remove the unused imports\n- format the code",
    "Look at a.py and correct the typo",
    "Korrigiere den Fehler in a.py",
    "Füge einen Test hinzu",
    "Kannst du die Funktion umbenennen?",
    "Bitte den Fehler beheben",
    "Benenne die Datei um",
    "Würdest du bitte README.md aktualisieren?",
    "Lege einen Ordner an",
    "Mach die Funktion schneller",
    "Erstelle eine Datei notes.md",
    "Ich möchte, dass du die Tests anpasst. Ändere zuerst a.py.",
    "Schau dir a.py an und behebe den Fehler",
    "Add up the prices and write the sum to total.txt",
    "Sum the column and save it as sums.csv",
    "Add a column up front",
    "Add 3 tests",
    "Make a chart of @sales and save it as sales.html",
    "Make a table of contents in README.md, then update the docs",
    "Solve the merge conflict",
    "Convert a.py to a package",
]

OTHERS = [
    "How do I fix this bug?",
    "Add up @prices",
    "Please add up the numbers in prices.csv",
    "Add them all up.",
    "Load prices.csv, then add the prices up",
    "I need you to add up @prices",
    "add @a and @b",
    "Add 2 and 3",
    "Sum @prices",
    "Average the prices per city",
    "Count the rows of @df",
    "Plot @prices",
    "Make a chart of @sales",
    "Create a table of the averages in prices.csv",
    "Generate a bar chart of prices.csv",
    "Show the first rows of @df",
    "List the columns",
    "Explain @df",
    "Solve the equation x^2 = 4",
    "Solve for x",
    "Convert 5 km to miles",
    "Stelle die Tabelle als Diagramm dar",
    "Erstelle ein Diagramm von @preise",
    "Zähle die Zeilen von daten.csv",
    "What does a.py do?",
    "Why did you change it?",
    "Should we rename it?",
    "Explain how to add a test",
    "hi",
    "thanks!",
    "Write a poem about cats",
    "How many rows has data.csv?",
    "run the tests",
    "show me the file",
    "don't change anything, only explain",
    "Is it possible to delete it?",
    "Create a plan for the migration",
    "Make a list of the files",
    "Write a function that adds two numbers",
    "no",
    "Compute the mean of x",
    "What would you change?",
    "Summarise the changes",
    "count lines in all files",
    "Tell me what the fix does",
    "Give me a summary of the document",
    "Can this be fixed?",
    "What happens if I remove the cache?",
    "Review the change in a.py",
    "Are the updates installed?",
    "```\nfix the bug\n```\nWhat does this mean?",
    "> please delete it\nWho wrote this?",
    "Was macht a.py?",
    "Wie kann ich das ändern?",
    "Erkläre mir, wie man Tests hinzufügt",
    "Ändere nichts, nur erklären",
    "Kann man das löschen?",
    "Schreibe ein Gedicht",
    "Warum wurde das geändert?",
    "Zeig mir die Datei",
    "Soll ich das umbenennen?",
    "",
]


@pytest.mark.parametrize("text", CHANGES)
def test_a_request_for_a_change_is_one(text: str) -> None:
    assert is_change(text)


@pytest.mark.parametrize("text", OTHERS)
def test_a_question_or_another_task_is_none(text: str) -> None:
    assert not is_change(text)


@pytest.mark.parametrize(
    ("text", "previous", "expected"),
    [
        ("yes", "Fix the bug", True),
        ("yes, go ahead", "Fix the bug in a.py", True),
        ("go ahead", "How would you fix it?", True),
        ("do it", "What would you change in a.py?", True),
        ("mach das", "Soll ich das ändern?", True),
        ("ok weiter", "Korrigiere die Tests", True),
        ("ja bitte", "Kannst du den Test löschen?", True),
        ("yes, but keep the name", "rename the class", True),
        ("continue", "Refactor the parser", True),
        ("ok weiter", "How many rows?", False),
        ("yes", "What is 2+2?", False),
        ("do it", "", False),
        ("yes", "Explain it, but do not change anything", False),
        ("no", "fix it", False),
        ("nein, lass das", "Lösche die Datei", False),
        ("yes?", "", False),
    ],
)
def test_a_follow_up_is_read_with_what_came_before(text: str, previous: str, expected: bool) -> None:
    assert is_change(text, previous) is expected


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "go ahead",
        "do it",
        "mach das",
        "ok weiter",
        "ja",
        "ok",
        "sure, go on",
        "Yes, please do that.",
        "the second one",
        "weiter",
        "👍",
        "leg los",
        "Go for it!",
        "sounds good, proceed",
        "ja, mach weiter",
        "as you suggested",
    ],
)
def test_a_follow_up_says_nothing_of_its_own(text: str) -> None:
    assert (is_follow_up(text), is_small_talk(text)) == (True, False)


@pytest.mark.parametrize(
    "text",
    [
        "hi",
        "Hello!",
        "thanks",
        "thank you so much",
        "Danke!",
        "how are you?",
        "guten Morgen",
        "what can you do?",
        "great job",
        "bye",
        "",
        "🙂",
        "Hi there, how are you?",
        "vielen Dank, das war's",
    ],
)
def test_small_talk_asks_for_nothing(text: str) -> None:
    assert (is_follow_up(text), is_small_talk(text), is_change(text)) == (False, True, False)


@pytest.mark.parametrize(
    "text", ["hi, fix a.py", "thanks, now run it", "test.py", "who wrote this?", "nein", "no", "stop"]
)
def test_neither_small_talk_nor_a_follow_up(text: str) -> None:
    assert (is_follow_up(text), is_small_talk(text)) == (False, False)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("words", ["word and then word, ", "yes ok ", "please can you ", "the test "])
def test_a_long_message_is_read_quickly(words: str) -> None:
    assert is_change(words * (200_000 // len(words)), words * 3000) in (True, False)
