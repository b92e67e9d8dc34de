import pytest

from jupyter_pernix import events, typegen


def test_committed_types_are_current():
    assert typegen.TARGET.read_text(encoding="utf-8") == typegen.typescript(), "run python -m jupyter_pernix.typegen"


def test_check_says_by_its_exit_code_that_the_file_is_stale(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(typegen, "TARGET", tmp_path / "types.gen.ts")
    assert typegen.main(["--check"]) == 1
    assert "stale" in capsys.readouterr().err
    assert typegen.main([]) == 0
    assert typegen.main(["--check"]) == 0


@pytest.mark.parametrize("tag", [*events.EVENT_TYPES, *events.DELTA_TYPES])
def test_every_event_and_delta_has_an_interface_with_its_tag(tag):
    text = typegen.typescript()
    assert text.count(f"  type: '{tag}';") == 1
    assert f"  '{tag}'" in text


def test_what_the_panel_sends_may_leave_out_defaults_and_what_it_receives_is_whole():
    text = typegen.typescript()
    assert "export interface TurnCreate {\n  text: string;\n  origin?: Origin;" in text
    assert (
        "export interface EndpointInfo {\n  name: string;\n  kind: EndpointKind;\n  base_url: string;\n  model: string;\n  models: string[];"
        in text
    )


def test_an_annotation_without_a_counterpart_is_refused():
    with pytest.raises(TypeError, match="no TypeScript"):
        typegen.Writer().name_of(tuple[int, str])
