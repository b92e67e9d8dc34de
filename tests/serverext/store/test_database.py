"""The file of the store."""

import os
from pathlib import Path

from jupyter_pernix.serverext.store.database import open_database


def test_the_store_is_its_users_alone_also_in_a_folder_that_was_there(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o755)
    before = os.umask(0o022)
    try:
        open_database(tmp_path / "data" / "pernix.duckdb").close()
    finally:
        os.umask(before)
    assert [oct(path.stat().st_mode & 0o777) for path in (tmp_path / "data").iterdir()] == ["0o600"]
