"""An open notebook as a person sees it in JupyterLab, and notebooks to open."""

import hashlib
from pathlib import Path
from typing import Any

import nbformat
from playwright.sync_api import Locator, Page

LANGUAGE = {
    "codemirror_mode": {"name": "ipython", "version": 3},
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "nbconvert_exporter": "python",
    "pygments_lexer": "ipython3",
    "version": ".".join(map(str, __import__("sys").version_info[:3])),
}
_FIND = """const panel = [...window.jupyterapp.shell.widgets('main')].find(widget => widget.context?.path === path);"""
KERNEL_READY = f"""path => {{ {_FIND} const kernel = panel?.context.sessionContext.session?.kernel;
  return !!kernel && kernel.connectionStatus === 'connected' && kernel.status === 'idle'; }}"""


def base(source: str, cell_type: str = "code") -> str:
    """What the model has to name of a cell that it wants to change."""
    return hashlib.sha256(f"{cell_type}\n{source}".encode()).hexdigest()[:12]


def write_notebook(path: Path, **sources: str) -> None:
    """Code cells by their ids, as JupyterLab itself would have saved them: opening it changes nothing."""
    cells = [nbformat.v4.new_code_cell(source, id=cell_id) for cell_id, source in sources.items()]
    book = nbformat.v4.new_notebook(cells=cells)
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    book.metadata["language_info"] = LANGUAGE
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(book, path)


def file_cells(path: Path) -> dict[str, Any]:
    """The cells of the file by id."""
    return {cell.id: cell for cell in nbformat.read(path, as_version=4).cells}


class NotebookView:
    """The notebook at ``path`` in a page, whatever tab is in front."""

    def __init__(self, page: Page, path: str) -> None:
        self.page = page
        self.path = path

    def _evaluate(self, expression: str, *arguments: Any) -> Any:
        return self.page.evaluate(f"([path, ...args]) => {{ {_FIND} return {expression}; }}", [self.path, *arguments])

    def wait_kernel(self) -> None:
        self.page.wait_for_function(KERNEL_READY, arg=self.path)

    def wait_kernel_known(self) -> None:
        """Until the page has found the kernel again, busy or not."""
        self.page.wait_for_function(
            f"path => {{ {_FIND} return !!panel?.context.sessionContext.session?.kernel; }}", arg=self.path
        )

    @property
    def sources(self) -> dict[str, str]:
        """The cells' sources by id, in their order."""
        pairs = self._evaluate("[...panel.context.model.cells].map(cell => [cell.id, cell.sharedModel.getSource()])")
        return dict(pairs)

    @property
    def code_cells(self) -> list[str]:
        """Their ids, in their order."""
        return self._evaluate(
            "[...panel.context.model.cells].filter(cell => cell.type === 'code').map(cell => cell.id)"
        )

    @property
    def dirty(self) -> bool:
        return self._evaluate("panel.context.model.dirty")

    def outputs(self, cell_id: str) -> list[dict[str, Any]]:
        """The outputs in the page's model."""
        return self._evaluate(
            "[...panel.context.model.cells].find(cell => cell.id === args[0]).sharedModel.getOutputs()", cell_id
        )

    def text(self, cell_id: str) -> str:
        return "".join(output.get("text", "") for output in self.outputs(cell_id))

    def wait_text(self, cell_id: str, text: str, *, timeout: float = 30_000) -> None:
        """Until the streams of the cell hold ``text``."""
        self.page.wait_for_function(
            f"""([path, id, text]) => {{ {_FIND} const cell = [...panel.context.model.cells].find(cell => cell.id === id);
              return cell.sharedModel.getOutputs().map(output => output.text ?? '').join('').includes(text); }}""",
            arg=[self.path, cell_id, text],
            timeout=timeout,
        )

    def wait_source(self, cell_id: str, source: str) -> None:
        self._wait_cell(cell_id, "cell?.sharedModel.getSource() === wanted", source)

    def wait_idle(self, cell_id: str) -> None:
        """Until no star stands before the cell."""
        self._wait_cell(cell_id, "cell?.executionState === wanted", "idle")

    def trusted(self, cell_id: str) -> bool:
        return self._evaluate("[...panel.context.model.cells].find(cell => cell.id === args[0]).trusted", cell_id)

    def running(self, cell_id: str) -> bool:
        return self._evaluate(
            "[...panel.context.model.cells].find(cell => cell.id === args[0]).executionState === 'running'", cell_id
        )

    def _wait_cell(self, cell_id: str, condition: str, wanted: str) -> None:
        self.page.wait_for_function(
            f"""([path, id, wanted]) => {{ {_FIND} const cell = [...panel.context.model.cells].find(cell => cell.id === id);
              return {condition}; }}""",
            arg=[self.path, cell_id, wanted],
        )

    def cell(self, cell_id: str) -> Locator:
        """The cell on the screen; its notebook has to be in front."""
        number = list(self.sources).index(cell_id)
        return self.page.locator(f'.jp-NotebookPanel:visible .jp-Cell[data-windowed-list-index="{number}"]')

    def show(self, cell_id: str) -> None:
        """Scroll to it."""
        number = list(self.sources).index(cell_id)
        self._evaluate("panel.content.scrollToItem(args[0])", number)

    def type_into(self, cell_id: str, source: str) -> None:
        """Replace a cell's source as the user's own edit does."""
        self._evaluate(
            "[...panel.context.model.cells].find(cell => cell.id === args[0]).sharedModel.setSource(args[1])",
            cell_id,
            source,
        )

    def run(self, cell_id: str) -> None:
        """Run a cell as the user does, and do not wait for it; its notebook comes to the front."""
        self._evaluate(
            """(() => { window.jupyterapp.shell.activateById(panel.id);
              panel.content.activeCellIndex = panel.content.widgets.findIndex(cell => cell.model.id === args[0]);
              void window.jupyterapp.commands.execute('notebook:run-cell'); })()""",
            cell_id,
        )

    def change_kernel(self, name: str) -> None:
        """As the dialog behind *Change Kernel* does."""
        self._evaluate("panel.context.sessionContext.changeKernel({name: args[0]}).then(() => true)", name)
        self.wait_kernel()

    def close(self) -> None:
        """Close its tab, which must ask nothing."""
        self._evaluate("panel.close() ?? panel.isDisposed")
        self.page.wait_for_function(f"path => {{ {_FIND} return panel === undefined; }}", arg=self.path)

    def rename(self, path: str) -> None:
        """As the file browser does."""
        self.page.evaluate(
            "([old, fresh]) => window.jupyterapp.serviceManager.contents.rename(old, fresh).then(() => true)",
            [self.path, path],
        )
        self.path = path

    def save(self) -> None:
        self._evaluate("panel.context.save()")
