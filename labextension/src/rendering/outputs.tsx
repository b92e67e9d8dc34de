import { OutputAreaModel, SimplifiedOutputArea } from '@jupyterlab/outputarea';
import type { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import * as React from 'react';
import type { JSONObject } from '../api/types.gen';

type Output = Parameters<OutputAreaModel['add']>[0];

function isOutput(output: JSONObject): output is JSONObject & Output {
  return typeof output.output_type === 'string';
}

/** Bring the model to `outputs`, touching only what changed since `before`. */
function update(model: OutputAreaModel, before: readonly JSONObject[], outputs: readonly JSONObject[]): void {
  const good = outputs.filter(isOutput);
  const grows =
    good.length === outputs.length && model.length === before.length && outputs.length >= before.length;
  if (grows) {
    good.forEach((output, index) => {
      if (index >= model.length) {
        model.add(output);
      } else if (output !== before[index]) {
        model.set(index, output);
      }
    });
  }
  // The model joins neighbouring streams by itself; then positions no longer agree.
  if (!grows || model.length !== good.length) {
    model.fromJSON(good);
  }
}

/** Outputs of code, drawn by JupyterLab's own output area and never trusted. */
export function makeOutputs(
  registry: IRenderMimeRegistry
): React.ComponentType<{ outputs: readonly JSONObject[] }> {
  return React.memo(function Outputs({ outputs }) {
    const host = React.useRef<HTMLDivElement>(null);
    const model = React.useRef<OutputAreaModel | null>(null);
    const shown = React.useRef<readonly JSONObject[]>([]);
    React.useEffect(() => {
      const node = host.current;
      if (node === null) {
        return;
      }
      const fresh = new OutputAreaModel({ trusted: false });
      const area = new SimplifiedOutputArea({ model: fresh, rendermime: registry });
      model.current = fresh;
      shown.current = [];
      MessageLoop.sendMessage(area, Widget.Msg.BeforeAttach);
      node.append(area.node);
      MessageLoop.sendMessage(area, Widget.Msg.AfterAttach);
      return () => {
        MessageLoop.sendMessage(area, Widget.Msg.BeforeDetach);
        area.node.remove();
        MessageLoop.sendMessage(area, Widget.Msg.AfterDetach);
        area.dispose();
        fresh.dispose();
        model.current = null;
      };
    }, []);
    React.useEffect(() => {
      if (model.current !== null) {
        update(model.current, shown.current, outputs);
        shown.current = outputs;
      }
    }, [outputs]);
    return <div ref={host} />;
  });
}
