import { type IRenderMimeRegistry, renderMarkdown } from '@jupyterlab/rendermime';
import * as React from 'react';
import { createPortal } from 'react-dom';
import { splitBlocks } from './blocks';
import { CodeToolbar, type CodeActions } from './code';

export interface MarkdownOptions {
  registry: IRenderMimeRegistry;
  actions: CodeActions;
}

/** A code block of the drawn text, and where its buttons go. */
interface Fence {
  slot: HTMLElement;
  text: string;
  language: string;
}

export function makeMarkdown(
  options: MarkdownOptions
): React.ComponentType<{ text: string; streaming: boolean }> {
  const Block = makeBlock(options);
  return React.memo(function Markdown({ text, streaming }) {
    const written = React.useRef(!streaming);
    const [drawn, setDrawn] = React.useState('');
    // What was written piece by piece stays in sight until the whole is drawn: nothing below it moves in between.
    const inPieces = streaming || (!written.current && drawn !== text);
    return (
      <div>
        {inPieces && splitBlocks(text).map((block, index) => <Block key={index} text={block} />)}
        {!streaming && (
          <div key="whole" hidden={inPieces}>
            <Block text={text} onDrawn={setDrawn} />
          </div>
        )}
      </div>
    );
  });
}

interface BlockProps {
  text: string;
  onDrawn?: (text: string) => void;
}

function makeBlock(options: MarkdownOptions): React.ComponentType<BlockProps> {
  const { registry, actions } = options;
  const draw = async (text: string): Promise<HTMLElement> => {
    const host = document.createElement('div');
    await renderMarkdown({
      host,
      source: text,
      trusted: false,
      sanitizer: registry.sanitizer,
      resolver: null,
      linkHandler: null,
      shouldTypeset: false,
      latexTypesetter: null,
      markdownParser: registry.markdownParser
    });
    return host;
  };
  return React.memo(function Block({ text, onDrawn }: BlockProps) {
    const host = React.useRef<HTMLDivElement>(null);
    const [fences, setFences] = React.useState<Fence[]>([]);
    React.useEffect(() => {
      let current = true;
      draw(text).then(
        drawn => {
          if (!current || host.current === null) {
            return;
          }
          const found = [...drawn.querySelectorAll('pre')].map(withSlot);
          host.current.replaceChildren(...drawn.childNodes);
          if (/[$\\]/.test(text)) {
            void registry.latexTypesetter?.typeset(host.current);
          }
          setFences(found);
          onDrawn?.(text);
        },
        error => console.error('jupyter_pernix: Markdown could not be drawn', error)
      );
      return () => {
        current = false;
      };
    }, [text, onDrawn]);
    return (
      <>
        <div ref={host} className="jp-RenderedHTMLCommon jp-RenderedMarkdown jp-Pernix-markdown" />
        {fences.map(({ slot, ...code }, index) =>
          createPortal(<CodeToolbar key={index} {...code} actions={actions} />, slot)
        )}
      </>
    );
  });
}

/** Wrap a drawn code block so that its buttons have a place. */
function withSlot(pre: HTMLPreElement): Fence {
  const text = (pre.textContent ?? '').replace(/\n$/, '');
  const language = /language-([\w+#.-]+)/.exec(pre.querySelector('code')?.className ?? '')?.[1] ?? '';
  const frame = document.createElement('div');
  const slot = document.createElement('div');
  frame.className = 'jp-Pernix-codeBlock';
  pre.tabIndex = 0;
  pre.replaceWith(frame);
  frame.append(slot, pre);
  return { slot, text, language };
}
