"""Secrets are masked wherever they stand, and nothing else is."""

import base64
import json
import random
import string
import uuid
from typing import Any
from urllib.parse import quote

import pytest

from jupyter_pernix.masking import MARK, Masker, is_secret_name

CHANCE = random.Random(3)


def made(length: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    """Random, with digits in it."""
    return "a1B2c3" + "".join(CHANCE.choices(alphabet, k=length - 6))


UPPER = string.ascii_uppercase + string.digits
SECRETS = {
    "openai": f"sk-{made(48)}",
    "openai project": f"sk-proj-{made(60)}",
    "anthropic": f"sk-ant-api03-{made(90)}",
    "huggingface": f"hf_{made(34)}",
    "github": f"ghp_{made(36)}",
    "github fine": f"github_pat_{made(22)}_{made(59)}",
    "gitlab": f"glpat-{made(20)}",
    "slack": f"xoxb-{made(12, string.digits)}-{made(24)}",
    "aws": "AKIA" + "".join(CHANCE.choices(UPPER, k=16)),
    "google": f"AIza{made(35)}",
    "stripe": f"sk_live_{made(24)}",
    "npm": f"npm_{made(36)}",
    "pypi": f"pypi-AgEIcHlwaS5vcmc{made(60)}",
    "jwt": f"eyJ{made(20)}.eyJ{made(40)}.{made(43)}",
}
ISSUED = pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
MASKER = Masker()


@ISSUED
@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "key is {}.",
        "'{}'",
        '{{"k": "{}"}}',
        "Bearer {}",
        "https://x.org/?q=1&token={}",
        "({})",
        "a={};b",
        "{}\\n",
        '["{}", 1]',
        "\x1b[31m{}\x1b[0m",
        "a\\n{}\\nb",
        "*_{}_*",
    ],
)
def test_what_an_issuer_gives_out_is_found_by_its_shape(secret: str, around: str):
    masked = MASKER.text(around.format(secret))
    assert secret not in masked and secret[12:] not in masked
    assert MARK in masked
    assert MASKER.text(masked) == masked


ASSIGNED = [
    "%env OPENAI_API_KEY=abc123def456",
    "%set_env OPENAI_API_KEY abc123def456",
    "!export DB_PASSWORD=hunter22x && run",
    "PGPASSWORD=hunter22x psql -h db",
    "os.environ.setdefault('AWS_SECRET_ACCESS_KEY', 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzz')",
    'monkeypatch.setenv("API_KEY", "abcdef0123456789")',
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzz",
    "curl -s -u bob:hunter22x https://x.org",
    "curl -H 'X-Api-Key: abcdef1234567890abcd' x.org",
    "requests.get(url, auth=('bob', 'hunter22x'))",
    "HTTPBasicAuth(user, 'hunter22x')",
    "docker login -u bob --password hunter22x",
    "tool --token=abcdef1234567890abcd run",
    "mysql -u root -phunter22x shop",
    "mysqldump -h db -p'hunter22x' shop > x.sql",
    '{"command": "mariadb -uroot -phunter22x -e \\"select 1\\""}',
    "sshpass -p hunter22x ssh bob@host",
    "sshpass -phunter22x scp a host:b",
    "sshpass -v -p 'hunter22x' ssh host",
    "wandb login abcdef0123456789abcdef0123456789abcdef01",
    "!wandb login --relogin abcdef0123456789abcdef0123456789abcdef01",
    "<password>hunter22x</password>",
    '<ns:db-password encoding="plain">hunter22x</ns:db-password>',
    "<server><id>x</id><Password>hunter22x</Password></server>",
    "<apiKey>abcdef0123456789</apiKey>",
    "machine github.com login bob password hunter22x",
    "//registry.org/:_authToken=abcdef01-2345-6789",
    "db_pass = 'hunter22x'",
    "DB_PASS=hunter22x",
    "api_key=f'abcdef1234567890'",
    'API_KEY = """abcdef1234567890"""',
    "API_KEY = (\n    'abcdef1234567890'\n)",
    "gsk_abcdef1234567890abcdef1234567890abcdef1234567890abcd",
    "https://discord.com/api/webhooks/1234/abcdef1234567890abcdef1234567890",
    "\x1b[33mpassword\x1b[39m=\x1b[33m'hunter22x'\x1b[39m",
    "{\x1b[33m'api_key'\x1b[39m: \x1b[38;5;28;01m'abcdef1234567890'\x1b[39m}",
    "\"api_key\\u001b[0m = \\u001b[33m'abcdef1234567890'\"",
    'password = "hunter22"',
    "password='correct horse'",
    'PASSWORD: str = "hunter22"',
    'db_password="p@ss;word/1"',
    "os.environ['OPENAI_API_KEY'] = 'abc123def456'",
    '{"password": "hunter22", "user": "me"}',
    '{\\"password\\": \\"hunter22\\"}',
    "api_key='0123456789abcdef'",
    'client_secret = "s3cr3tvalue"',
    'aws_secret_access_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYzzz1"',
    "OPENAI_API_KEY=abc123def456ghi",
    "export DB_PASSWORD=p&ss<w>/123",
    "  password: hunter22x",
    "Authorization: Bearer abcdefgh12345678",
    "-H 'Authorization: Basic dXNlcjpodW50ZXIyMg=='",
    '"authorization": "Token abcdef0123456789"',
    "curl -u x https://user:hunter22@host.org/x",
    "postgresql+psycopg2://me:hunter22@db:5432/x",
    "redis://:hunter22@cache:6379/0",
    "Server=db;User Id=me;Password=hunter22;",
    "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=abcd1234abcd1234==;E=y",
    "host=db dbname=x user=me password=hunter22",
    "X-Api-Key: abcdef0123456789",
    "Cookie: session=abcdef0123456789; a=b",
    "https://hooks.slack.com/services/T0000AAAA/B0000BBBB/abcdefABCDEF012345678901",
    "http://localhost:8888/lab?token=0123456789abcdef0123456789abcdef",
]


@pytest.mark.parametrize("text", ASSIGNED)
def test_what_a_name_says_is_a_secret_is_one(text: str):
    masked = MASKER.text(text)
    assert MARK in masked, masked
    for value in (
        "hunter22",
        "correct horse",
        "p@ss",
        "abc123",
        "abcdef",
        "0123456789",
        "s3cr3t",
        "wJalr",
        "p&ss",
        "dXNl",
        "abcd1234",
    ):
        assert value not in masked
    assert MASKER.text(masked) == masked


def test_only_the_secret_is_masked():
    assert (
        MASKER.text('connect("db", password="hunter22", port=1)') == 'connect("db", password="••••(password)", port=1)'
    )
    assert MASKER.text("x = 1\nMY_TOKEN=abcdef0123456789\ny = 2") == "x = 1\nMY_TOKEN=••••(token)\ny = 2"
    assert MASKER.text("ftp://me:hunter22@host/a") == "ftp://me:••••(password)@host/a"


PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\n" + "\n".join(made(64) for _ in range(5)) + "\nQ==\n-----END RSA PRIVATE KEY-----"
)


@pytest.mark.parametrize(
    "text", [PEM, json.dumps(PEM), json.dumps(json.dumps(PEM)), json.dumps(PEM.splitlines(True)), PEM[:200]]
)
def test_private_keys_are_masked_however_their_lines_are_broken(text: str):
    masked = MASKER.text(text + " and more")
    assert all(line not in masked for line in PEM.split("\n")[1:6])
    assert "PRIVATE KEY" in masked and masked.endswith("and more")
    assert MASKER.text(masked) == masked


HARMLESS = [
    "MONKEY=banana123456",
    "tool --num-tokens 4096 --token-limit 100000",
    "tool --token $TOKEN --password '<password>'",
    "MAX_TOKEN=100000 python run.py",
    "%env PATH=/usr/bin:/bin12345",
    "os.environ.setdefault('HOME', '/home/me12345')",
    "d.setdefault('key', 'value')",
    "auth=(user, password)",
    "\x1b[33mmax_tokens\x1b[39m = \x1b[33m4096\x1b[39m",
    "requests.get(url, headers={'Accept': 'text/html'})",
    "curl -u $USER:$PASSWORD x.org",
    "password = getpass()",
    "password = os.environ['DB_PASSWORD']",
    'password = input("Password: ")',
    "def login(user, password=None, token=''):",
    'password = "<your password>"',
    'api_key = "YOUR_API_KEY"',
    'api_key = os.getenv("OPENAI_API_KEY")',
    "OPENAI_API_KEY=$KEY",
    "PWD=/root/project",
    'pad_token = "[PAD]"',
    'eos_token="<|endoftext|>"',
    "token = 'word'",
    "tokenizer = 'bert-base-uncased-2018-10-18'",
    'max_tokens: "4096"',
    "usage: {prompt_tokens: 12345678, completion_tokens: 12}",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "commit 579288b442f4826a753379c8fb34d663f336b5a3",
    str(uuid.UUID(int=2**127)),
    "key = 'column_name_1'",
    "for key, value in items.items(): keys['a'] = 'b'",
    'secret_name = "my-secret-name"',
    "https://example.org/path?page=12&key=a",
    "http://localhost:8888/lab",
    "git@github.com:owner/name.git",
    "see https://docs.org:8080/a@b",
    "class='sk-toggleable__label-arrow' id='sk-estimator-id-1' class='sk-container-id-1'",
    "task-force-of-2024-members-who-ask-1234",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
    "the bearer of this letter has come",
    "The password must be at least eight characters: 12 are better.",
    "risk-adjusted-return-2024-q1-q2-q3",
    "sort(key='name'); auth = 'basic'",
    'cookie = "chocolate"',
    "mysql -p -u root --port 3306 -P3306 shop",
    "mysql -u root -p$DB_PASSWORD shop",
    "docker run --name mysql -p3306:3306 mysql:8",
    "docker run -p8080:80 mysql",
    "sshpass -e ssh bob@host",
    "sshpass -p $PASSWORD ssh -p2222 bob@host",
    "wandb login",
    "wandb login --relogin && python train.py",
    "<label>Password</label>",
    "<password>${env.DB_PASSWORD}</password>",
    "<ResetPassword>Forgot it?</ResetPassword>",
    "<secret/><password></password>",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text: str):
    assert MASKER.text(text) == text


def test_pictures_stay_as_they_are():
    picture = base64.b64encode(b"AKIAABCDEFGHIJKLMNOP" * 500 + bytes(range(256)) * 40).decode()
    output = {
        "output_type": "display_data",
        "data": {"image/png": picture, "text/plain": "password='hunter22'"},
        "metadata": {},
    }
    masked = MASKER.output(output)["data"]
    assert masked == {"image/png": picture, "text/plain": "password='••••(password)'"}
    page = f'<img src="data:image/png;base64,{picture}"> token={SECRETS["github"]}'
    assert picture in MASKER.text(page) and SECRETS["github"] not in MASKER.text(page)


KNOWN = ["p&ss<w>/77e1", "plainword-known", "Ünï-cödé-known", "0a1b2c3d4e5f60718293a4b5c6d7e8f9"]
FORMS = {
    "plain": lambda value: value,
    "json": lambda value: json.dumps(value),
    "json in json": lambda value: json.dumps(json.dumps(value)),
    "address": lambda value: quote(value, safe=""),
    "hex": lambda value: value.encode().hex(),
    "reversed": lambda value: value[::-1],
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
    "base64 behind one": lambda value: base64.b64encode(b"x" + value.encode()).decode(),
    "base64 behind two": lambda value: base64.b64encode(b"xy" + value.encode() + b"z").decode(),
    "broken": lambda value: value[:5] + "\n" + value[5:],
    "broken in json": lambda value: json.dumps(value[:5] + "\n" + value[5:], ensure_ascii=False),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("value", KNOWN)
def test_known_values_are_masked_in_every_form(value: str, form: Any):
    masker = Masker(KNOWN)
    text = f"before {form(value)} after"
    masked = masker.text(text)
    assert form(value) not in masked and value not in masked.replace("\n", "").replace("\\n", "")
    assert masked.startswith("before ") and masked.endswith(" after")
    assert masker.text(masked) == masked


def test_short_known_values_mask_nothing():
    assert Masker(["true", "1234567", ""]).text("true 1234567") == "true 1234567"


def test_the_key_that_a_text_stands_under_says_what_it_is():
    value = {
        "command": "psql",
        "password": "hunter22",
        "env": {"API_KEY": "abc123def"},
        "list": [{"token": "t"}],
        "n": 1,
    }
    assert MASKER.json(value) == {
        "command": "psql",
        "password": "••••(password)",
        "env": {"API_KEY": "••••(api-key)"},
        "list": [{"token": "t"}],
        "n": 1,
    }


def test_names_of_secrets_in_an_environment():
    secret = [
        "OPENAI_API_KEY",
        "HF_TOKEN",
        "DB_PASSWORD",
        "AWS_SECRET_ACCESS_KEY",
        "JUPYTER_TOKEN",
        "GOOGLE_CREDENTIALS",
        "SIGNING_KEY",
    ]
    plain = [
        "PATH",
        "HOME",
        "LANG",
        "MAX_TOKENS",
        "KEYBOARD",
        "TOKENIZERS_PARALLELISM",
        "SSH_AUTH_SOCK",
        "PYTHONHASHSEED",
    ]
    assert [name for name in [*secret, *plain] if is_secret_name(name)] == secret


def test_an_error_output_is_masked_in_all_its_parts():
    output = {
        "output_type": "error",
        "ename": "E",
        "evalue": "password='hunter22'",
        "traceback": ["a", "password='hunter22'", "c"],
    }
    masked = MASKER.output(output)
    assert "hunter22" not in json.dumps(masked)
    assert len(masked["traceback"]) == 3


def test_a_traceback_inside_json_is_masked_too():
    text = 'get(\x1b[33m\'x\'\x1b[39m, auth=(\x1b[33m"bob"\x1b[39m,\x1b[33m"hunter22"\x1b[39m)); os.putenv("API_KEY", "hunter22")'
    assert "hunter22" not in MASKER.text(text)
    assert "hunter22" not in MASKER.text(json.dumps(text))
    assert "hunter22" not in MASKER.text(json.dumps(json.dumps(text)))


def test_only_the_lines_with_a_secret_lose_their_colours():
    red = "\x1b[31mred\x1b[0m"
    masked = MASKER.text(f"{red}\nlogin(password=\x1b[33m'hunter22'\x1b[39m)\n{red}")
    assert masked == f"{red}\nlogin(password='••••(password)')\n{red}"


@pytest.mark.parametrize("secret", ["a-known-value-77", SECRETS["github"]])
def test_a_secret_in_a_long_text_of_few_lines_is_found(secret: str):
    lines = ["the same line again and again"] * 2000
    text = "\n".join([*lines, f"x {secret} y", *lines])
    masked = Masker(["a-known-value-77"]).text(text)
    assert secret not in masked
    assert masked.split("\n")[:2000] == lines and masked.count("\n") == text.count("\n")


def test_a_known_value_that_a_line_break_splits_is_found_in_a_long_text():
    text = "\n".join([*["same line"] * 2000, "x a-known-", "value-77 y", *["same line"] * 2000])
    masked = Masker(["a-known-value-77"]).text(text)
    assert MARK in masked and "value-77" not in masked


REAL_LIFE = {
    "git": "commit 9fceb02d0ae598e95dc970b74767f19372d61af8\nAuthor: A <a@example.org>\nindex e69de29..d95f3ad 100644",
    "digests": "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  model.safetensors",
    "uuid": "id=123e4567-e89b-12d3-a456-426614174000 key=value keys: 3",
    "pip": "Successfully installed tokenizers-0.19.1 huggingface_hub-0.23.0 python-jose-3.3.0",
    "tokenizer": "pad_token='<pad>' eos_token=\"<|endoftext|>\" tokens: [101, 7592, 2088, 102] max_tokens=4096",
    "frame": "   token    count\n0  the      10242\n1  secret   17\n2  passkey  3\nName: token, dtype: object",
    "progress": "Epoch 3: 45%|####      | 45/100 [00:12<00:15, 3.6it/s, loss=0.53, tokens=1024]",
    "schema": "api_key VARCHAR(40) NOT NULL, password_hash CHAR(60), auth_token TEXT DEFAULT NULL",
    "sklearn": "GridSearchCV(key='rbf_gamma_0001', scoring='accuracy', n_jobs=-1)",
    "keys": "dict_keys(['token_type_ids', 'attention_mask', 'input_ids']) KeyError: 'secret_column'",
    "numbers": "[0.12345678 1.23e-04 -7.89] 3.141592653589793 0xdeadbeefcafebabe1234567890",
    "png": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "s3": "s3://bucket/key=2024-01-01/part-00000-3f2c9a1e.snappy.parquet?versionId=abc",
    "code": "token = tokenizer.encode(text)\npassword = getpass.getpass()\nkey = os.environ['API_KEY']\nauth = None",
}


@pytest.mark.parametrize("text", REAL_LIFE.values(), ids=REAL_LIFE)
def test_ordinary_output_stays_as_it_is(text: str):
    assert Masker(["a-known-value-77"]).text(text) == text
