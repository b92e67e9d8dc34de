import type { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import * as React from 'react';
import { IconButton } from '../components/icons';
import { CODE } from '../components/words';

export interface CodeActions {
  copy: (text: string) => Promise<void>;
  /** Puts code into a new cell below the active one. */
  insert: (text: string) => void;
}

/** The buttons on a piece of code. */
export function CodeToolbar(props: {
  text: string;
  language: string;
  actions: CodeActions;
}): React.JSX.Element {
  const { text, language, actions } = props;
  const [copied, setCopied] = React.useState(false);
  React.useEffect(() => {
    if (copied) {
      const timer = setTimeout(() => setCopied(false), 1500);
      return () => clearTimeout(timer);
    }
    return;
  }, [copied]);
  return (
    <div className="jp-Pernix-codeBar">
      <span className="jp-Pernix-codeName">{language}</span>
      <IconButton
        icon={copied ? 'check' : 'copy'}
        label={copied ? CODE.copied : CODE.copy}
        onClick={() => void actions.copy(text).then(() => setCopied(true))}
      />
      <IconButton icon="insert" label={CODE.insert} onClick={() => actions.insert(text)} />
    </div>
  );
}

export function makeCode(
  languages: IEditorLanguageRegistry,
  actions: CodeActions
): React.ComponentType<{ text: string; language: string }> {
  return React.memo(function Code({ text, language }) {
    const host = React.useRef<HTMLElement>(null);
    React.useEffect(() => {
      let current = true;
      const fresh = document.createElement('code');
      languages.highlight(text, languages.findBest(language), fresh).then(
        () => {
          if (current) {
            host.current?.replaceChildren(...fresh.childNodes);
          }
        },
        () => undefined // It stays as plain text.
      );
      return () => {
        current = false;
      };
    }, [text, language]);
    return (
      <div className="jp-Pernix-codeBlock">
        <CodeToolbar text={text} language={language} actions={actions} />
        <pre tabIndex={0} aria-label={`${language} code`}>
          <code ref={host} dangerouslySetInnerHTML={{ __html: escape(text) }} />
        </pre>
      </div>
    );
  });
}

/** React must not own the text, since highlighting replaces it. */
function escape(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;');
}
