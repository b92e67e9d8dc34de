import * as React from 'react';
import type { ContextItem, Mention, TurnView } from '../api/types.gen';
import { Pictures } from './Pictures';
import { contextWords, mentionWords, TOLD } from './words';

function tells(item: ContextItem, mention: Mention): boolean {
  return item.kind === mention.kind && item.name === mention.name;
}

/** What went to the model with a message: each as a chip that shows the very words. */
export function Told(props: { turn: Pick<TurnView, 'mentions' | 'context'> }): React.JSX.Element | null {
  const { mentions, context } = props.turn;
  const [shown, setShown] = React.useState(-1);
  const id = React.useId();
  // What a mention became is shown in its place.
  const bare = mentions.filter(mention => !context.some(item => tells(item, mention)));
  const item = context[shown];
  if (bare.length === 0 && context.length === 0) {
    return null;
  }
  return (
    <div className="jp-Pernix-told" role="group" aria-label={TOLD.means} title={TOLD.means}>
      <div className="jp-Pernix-toldLine">
        {bare.map((mention, index) => (
          <span key={index} className="jp-Pernix-chip">
            {mentionWords(mention)}
          </span>
        ))}
        {context.length > 0 && <span className="jp-Pernix-dim">{TOLD.label}</span>}
        {context.map((entry, index) => (
          <button
            key={index}
            type="button"
            className="jp-Pernix-chip jp-mod-button"
            aria-expanded={index === shown}
            aria-controls={id}
            onClick={() => setShown(index === shown ? -1 : index)}
          >
            {contextWords(entry)}
          </button>
        ))}
      </div>
      <div id={id} className="jp-Pernix-toldText" hidden={item === undefined}>
        {item !== undefined && (
          <>
            <pre className="jp-Pernix-plain" tabIndex={0}>
              {item.text}
            </pre>
            {item.pictures.length > 0 && <Pictures pictures={item.pictures} />}
          </>
        )}
      </div>
    </div>
  );
}
