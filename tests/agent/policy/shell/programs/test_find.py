"""find and xargs: what they run is judged with them."""

import pytest

from ..conftest import World
from .tables import lines

READS = lines(r"""
find . -type f -name '*.py' -not -path './.git/*'
find src -maxdepth 1 -type d
find . -type f -exec grep -l foo {} +
find . -name '*.rs' -size +1k -mtime -3
find src -type f -printf '%s %p\n'
find src -name '*.py' -exec head -1 {} \;
""")

DOES_MORE = lines(r"""
find . -fprint x
find . -exec cat {} +
find -L . -name x
find . -follow
find . -newer /etc/passwd
find . -exec env \;
find / -name x
find . -okdir ls \;
find . -fls x
find . -fprintf x %p
find . -exec grep -f /etc/passwd {} \;
find src -exec cat /etc/passwd \;
find src -exec sort -o x {} +
find src -exec cp {} /tmp \;
find src -execdir ./x \;
find src -exec {} \;
find src -exec wc -l {} \; -exec rm {} \;
find src -exec sed -i s/a/b/ {} +
find src -exec awk '{print > "x"}' {} +
find -files0-from list.txt
xargs ls
find . -name '*.py' -exec sed -i s/a/b/ {} \;
find . -exec sh {} \;
find . -exec python {} \;
find . -exec {} +
find src -exec wc -l {} + -delete
find src \( -name x -exec rm {} \; \)
find ./outlink/ -name x
find .. -name x
find ~ -name x
find -name x -fprint0 y
find . -execdir wc {} \; -ok rm {} \;
find . -regextype x -newerXY z -exec cat {} \;
find . -type f -o -exec cat {} \;
find . ! -type f -exec cat {} \;
find . -type l -exec cat {} \;
find . -type f,l -exec cat {} \;
find . -xtype f -exec cat {} \;
""")


@pytest.mark.parametrize("line", READS)
def test_line_that_only_reads_is_not_asked(pristine: World, line: str):
    judgement = pristine.judge(line)
    assert judgement.ruling == "auto", judgement


@pytest.mark.parametrize("line", DOES_MORE)
def test_line_that_may_do_more_is_asked(pristine: World, line: str):
    judgement = pristine.judge(line)
    assert judgement.ruling in ("ask", "ask_always"), judgement
    assert judgement.why
