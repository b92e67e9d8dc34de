import * as React from 'react';
import type { Variable } from '../api/types.gen';
import { hasNames, mentionsIn, nameBefore } from '../model/mentions';
import { MENTIONS, plain, variableWords } from './words';

const MOST = 50;

export interface MentionsProps {
  field: React.RefObject<HTMLTextAreaElement>;
  text: string;
  onText: (text: string) => void;
  /** The variables of the kernel, none when they cannot be told. */
  load: () => Promise<readonly Variable[]>;
}

export interface Mentions {
  /** Drawn beside the field; null while nothing is offered. */
  list: React.JSX.Element | null;
  /** For the field while something is offered. */
  aria: React.AriaAttributes;
  /** True when the key was meant for the list. */
  onKeyDown: (event: React.KeyboardEvent) => boolean;
  /** To be called when the text or the cursor moved. */
  onMove: () => void;
  /** To be called when the field lost the focus. */
  onLeave: () => void;
  /** What a message mentions. */
  mentionsIn: (text: string) => Promise<ReturnType<typeof mentionsIn>>;
}

/** Offers variables while a name is written after an `@`. */
export function useMentions(props: MentionsProps): Mentions {
  const { field, text, onText, load } = props;
  const [name, setName] = React.useState<string | null>(null);
  const [variables, setVariables] = React.useState<readonly Variable[]>([]);
  const [active, setActive] = React.useState(0);
  const id = React.useId();
  const naming = name !== null;
  React.useEffect(() => {
    let current = naming;
    if (current) {
      void load().then(found => current && setVariables(found));
    }
    return () => {
      current = false;
    };
  }, [naming, load]);
  const offered =
    name === null
      ? []
      : variables
          .filter(variable => variable.name.toLowerCase().startsWith(name.toLowerCase()))
          .slice(0, MOST);

  // Where the list was closed: it comes back when something was typed, not when the key that closed it is let go.
  const closedAt = React.useRef('');
  const place = () => `${field.current?.selectionEnd} ${field.current?.value}`;
  const close = () => {
    closedAt.current = place();
    setName(null);
  };
  const onMove = () => {
    const node = field.current;
    if (node === null || place() === closedAt.current) {
      return;
    }
    closedAt.current = '';
    const now = nameBefore(node.value, node.selectionEnd);
    if (now !== name) {
      setName(now);
      setActive(0);
    }
  };
  const choose = (variable: Variable) => {
    const end = field.current?.selectionEnd ?? text.length;
    const head = `${text.slice(0, end - (name ?? '').length)}${variable.name} `;
    onText(head + text.slice(end).replace(/^ /, ''));
    close();
    requestAnimationFrame(() => field.current?.setSelectionRange(head.length, head.length));
  };
  const onKeyDown = (event: React.KeyboardEvent): boolean => {
    const variable = offered[active];
    if (variable === undefined) {
      return false;
    }
    switch (event.key) {
      case 'ArrowDown':
        setActive((active + 1) % offered.length);
        break;
      case 'ArrowUp':
        setActive((active + offered.length - 1) % offered.length);
        break;
      case 'Enter':
        if (variable.name === name) {
          // It is written out: the message may go.
          close();
          return false;
        }
        choose(variable);
        break;
      case 'Tab':
        choose(variable);
        break;
      case 'Escape':
        close();
        break;
      default:
        return false;
    }
    event.preventDefault();
    event.stopPropagation();
    return true;
  };
  return {
    list:
      offered.length === 0 ? null : (
        <ul className="jp-Pernix-mentions" role="listbox" id={id} aria-label={MENTIONS}>
          {offered.map((variable, index) => (
            <Offer
              key={variable.name}
              id={`${id}-${index}`}
              variable={variable}
              selected={index === active}
              onChoose={choose}
            />
          ))}
        </ul>
      ),
    aria:
      offered.length === 0
        ? {}
        : { 'aria-controls': id, 'aria-autocomplete': 'list', 'aria-activedescendant': `${id}-${active}` },
    onKeyDown,
    onMove,
    onLeave: close,
    mentionsIn: async message => {
      const found = hasNames(message) ? await load() : [];
      return mentionsIn(message, new Set(found.map(variable => variable.name)));
    }
  };
}

function Offer(props: {
  id: string;
  variable: Variable;
  selected: boolean;
  onChoose: (variable: Variable) => void;
}): React.JSX.Element {
  const { id, variable, selected, onChoose } = props;
  const node = React.useRef<HTMLLIElement>(null);
  React.useEffect(() => {
    if (selected) {
      node.current?.scrollIntoView?.({ block: 'nearest' });
    }
  }, [selected]);
  return (
    <li
      ref={node}
      id={id}
      role="option"
      aria-selected={selected}
      onMouseDown={event => {
        // The field keeps the focus.
        event.preventDefault();
        onChoose(variable);
      }}
    >
      <span>{plain(variable.name)}</span>
      <span className="jp-Pernix-dim">{variableWords(variable)}</span>
    </li>
  );
}
