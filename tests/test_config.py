from pathlib import Path

import pytest

from jupyter_pernix.config import EndpointSettings, Settings, from_environment, load, read_file
from jupyter_pernix.errors import ConfigError


@pytest.fixture
def config_file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def test_without_any_layer_the_defaults_hold(config_file: Path):
    assert load(config_file=config_file, environ={}) == Settings()


def test_each_layer_covers_the_one_below(config_file: Path):
    config_file.write_text('mode = "ask"\nkernel_name = "file"\nrecords_dir = "file"\n')
    environ = {"PERNIX_KERNEL_NAME": "environment", "PERNIX_RECORDS_DIR": "environment"}
    settings = load(config_file=config_file, environ=environ, overrides={"records_dir": "given"})
    assert (settings.mode, settings.kernel_name, settings.records_dir) == ("ask", "environment", "given")


def test_layers_merge_inside_tables(config_file: Path):
    config_file.write_text("[budget]\nrounds = 5\ntokens = 100\n[deadlines]\nshell = 2.5\n")
    settings = load(config_file=config_file, environ={}, overrides={"budget": {"rounds": 9}})
    assert (settings.budget.rounds, settings.budget.tokens, settings.budget.seconds) == (9, 100, 3600.0)
    assert settings.deadlines.shell == 2.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('mood = "good"', "unknown setting 'mood'; did you mean 'mode'?"),
        ("zzz = 1", "unknown setting 'zzz'; known: "),
        ("[budget]\nround = 3", "unknown setting 'budget.round'; did you mean 'rounds'?"),
        ("[deadlines]\nshel = 3", "unknown setting 'deadlines.shel'; did you mean 'shell'?"),
        ('[endpoints.home]\nbase_ur = "x"', "unknown setting 'endpoints.home.base_ur'; did you mean 'base_url'?"),
        ('mode = "yolo"', "Invalid enum value 'yolo'"),
        ("budget = 3", "Expected `object`, got `int`"),
        ("endpoints = 3", "Expected `object`, got `int`"),
        ("[endpoints.home]\nmodel = 'm'", "missing required field `base_url`"),
        ("mode = ", "Invalid value"),
    ],
)
def test_a_wrong_setting_is_named_with_its_file(config_file: Path, text: str, message: str):
    config_file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(config_file=config_file, environ={})
    assert caught.value.source == str(config_file)
    assert message in str(caught.value)


def test_a_file_that_is_not_text_is_named(config_file: Path):
    config_file.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"config\.toml"):
        read_file(config_file)


def test_a_wrong_value_in_the_environment_names_the_environment(config_file: Path):
    with pytest.raises(ConfigError, match=r"environment: .*yolo"):
        load(config_file=config_file, environ={"PERNIX_MODE": "yolo"})


def test_words_of_the_environment_become_values(config_file: Path):
    assert load(config_file=config_file, environ={"PERNIX_DISCOVER": "false"}).discover is False


def test_other_variables_are_not_settings():
    assert from_environment({"PERNIX_UNHEARD_OF": "1", "HOME": "/home/user"}) == {}


def test_the_usual_openai_variables_make_an_endpoint(config_file: Path):
    environ = {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "OPENAI_API_KEY": "secret", "OPENAI_MODEL": "m"}
    endpoint = load(config_file=config_file, environ=environ).endpoints["openai"]
    assert endpoint == EndpointSettings(base_url="http://127.0.0.1:1/v1", api_key_env="OPENAI_API_KEY", model="m")
    assert endpoint.key(environ) == "secret"


def test_a_key_alone_means_the_usual_address():
    endpoints = from_environment({"OPENAI_API_KEY": "secret"})["endpoints"]
    assert endpoints["openai"]["base_url"] == "https://api.openai.com/v1"


def test_a_key_in_the_settings_wins_over_its_variable():
    endpoint = EndpointSettings(base_url="x", api_key="own", api_key_env="NAME")
    assert endpoint.key({"NAME": "other"}) == "own"
    assert EndpointSettings(base_url="x").key({"": "never"}) == ""
