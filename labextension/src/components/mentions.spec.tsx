import * as React from 'react';
import { createRoot, type Root } from 'react-dom/client';
import type { Mention, Variable } from '../api/types.gen';
import { emptyView } from '../model/reduce';
import { Composer } from './Composer';

const { act } = React;
const nothing = () => undefined;
const stored = () => Promise.resolve(true);

let host: HTMLElement;
let root: Root;

beforeEach(() => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
  host = document.body.appendChild(document.createElement('div'));
  root = createRoot(host);
});

afterEach(() => {
  act(() => root.unmount());
  host.remove();
});

describe('a variable in a message', () => {
  const variable = (name: string): Variable => ({
    name,
    type: 'DataFrame',
    shape: [1460, 4],
    dtype: '',
    length: null,
    size_bytes: null,
    preview: '',
    columns: [],
    more_columns: 0,
    hidden: false
  });
  let sent: [string, Mention[]][];

  function composer(names: string[]): HTMLTextAreaElement {
    sent = [];
    act(() =>
      root.render(
        <Composer
          view={emptyView('s')}
          queued={[]}
          endpoints={[]}
          draft=""
          onDraft={nothing}
          onSend={(text, mentions) => Promise.resolve(sent.push([text, mentions]) > 0)}
          onVariables={() => Promise.resolve(names.map(variable))}
          onStop={nothing}
          onPause={nothing}
          onResume={nothing}
          onEdit={stored}
          onCompact={nothing}
          onWithdraw={nothing}
          onMode={nothing}
          onEndpoint={nothing}
          focus={0}
        />
      )
    );
    const found = host.querySelector('textarea');
    if (found === null) {
      throw new Error('no field');
    }
    return found;
  }

  async function say(area: HTMLTextAreaElement, text: string): Promise<void> {
    const setter = Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, 'value')?.set;
    await act(async () => {
      setter?.call(area, text);
      area.setSelectionRange(text.length, text.length);
      area.dispatchEvent(new Event('input', { bubbles: true }));
    });
  }

  async function press(area: HTMLTextAreaElement, key: string): Promise<void> {
    await act(async () => {
      area.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
    });
  }

  const offers = () => [...host.querySelectorAll('[role=option]')].map(option => option.textContent);

  it('is offered while its name is written and chosen by keyboard', async () => {
    const area = composer(['data', 'df', 'model']);
    await say(area, 'plot @d');
    expect(offers()).toEqual(['dataDataFrame · 1460 × 4', 'dfDataFrame · 1460 × 4']);
    await press(area, 'ArrowDown');
    expect(area.getAttribute('aria-activedescendant')).toBe(host.querySelector('[aria-selected=true]')?.id);
    await press(area, 'Enter');
    expect([area.value, offers()]).toEqual(['plot @df ', []]);
    await press(area, 'Enter');
    expect(sent).toEqual([['plot @df', [{ kind: 'variable', name: 'df' }]]]);
  });

  it('that is written out goes with the message at once', async () => {
    const area = composer(['df']);
    await say(area, 'plot @df');
    await press(area, 'Enter');
    expect(sent).toEqual([['plot @df', [{ kind: 'variable', name: 'df' }]]]);
  });

  it('is not offered any more after Escape, nor where there is none', async () => {
    const area = composer(['df']);
    await say(area, '@d');
    await press(area, 'Escape');
    expect(offers()).toEqual([]);
    await say(area, 'mail a@d');
    expect(offers()).toEqual([]);
    await press(area, 'Enter');
    expect(sent).toEqual([['mail a@d', []]]);
  });
});
