import * as React from 'react';
import type { ChangedFile, FileUndone, TurnView } from '../api/types.gen';
import { DiffText } from './Diff';
import { changedSince, fileKind, filesOf, filesWords, UNDO, undoneWords } from './gatewords';
import { plain, sentence } from './words';

export interface FilesHandlers {
  /** All files that the session has changed; `null` when they cannot be told. */
  onFiles?: (() => Promise<ChangedFile[] | null>) | undefined;
  /** Puts files back: all or `paths`, as before the session or before `turnId`; `null` when that failed as a whole. */
  onUndo?: ((turnId: string | null, paths: string[]) => Promise<FileUndone[] | null>) | undefined;
  onOpenFile?: ((path: string) => void) | undefined;
}

/** On a turn's foot: how many files it changed; opened, what became of them, with a way back. */
export function FilesChanged(props: FilesHandlers & { turn: TurnView }): React.JSX.Element | null {
  const { turn, onFiles, onUndo } = props;
  const [open, setOpen] = React.useState(false);
  const [files, setFiles] = React.useState<readonly ChangedFile[] | null>(null);
  const [done, setDone] = React.useState<readonly FileUndone[] | null>(null);
  const id = React.useId();
  const known = filesOf(turn).length;
  const restored = turn.items.reduce(
    (sum, item) => (item.type === 'call' ? sum + item.restored.length : sum),
    0
  );
  React.useEffect(() => {
    let gone = false;
    if (open && onFiles) {
      void onFiles().then(found => {
        if (!gone && found !== null) {
          setFiles(found);
        }
      });
    }
    return () => {
      gone = true;
    };
  }, [open, onFiles, restored]);
  if (onFiles === undefined || onUndo === undefined || (known === 0 && turn.kept === null)) {
    return null;
  }
  const mine = files?.filter(file => file.turns.includes(turn.turn_id)) ?? null;
  const undo = async (turnId: string | null, paths: string[]) => setDone(await onUndo(turnId, paths));
  return (
    <div className="jp-Pernix-files">
      <button
        type="button"
        className="jp-Pernix-link"
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setOpen(!open)}
      >
        {mine !== null ? filesWords(mine.length) : known > 0 ? filesWords(known) : 'Files changed'}
      </button>
      <div id={id} hidden={!open} role="group" aria-label="Files changed by this turn" tabIndex={-1}>
        {open && mine !== null && files !== null && (
          <>
            {mine.length === 0 && <div className="jp-Pernix-dim">No file is changed by it now.</div>}
            {mine.map(file => (
              <File
                key={file.path}
                file={file}
                turnId={turn.turn_id}
                onOpenFile={props.onOpenFile}
                onUndo={undo}
              />
            ))}
            <Done done={done} />
            <Undos turn={turn} mine={mine} files={files} onUndo={undo} />
          </>
        )}
      </div>
    </div>
  );
}

type Undo = (turnId: string | null, paths: string[]) => Promise<void>;

function File(props: {
  file: ChangedFile;
  turnId: string;
  onOpenFile: FilesHandlers['onOpenFile'];
  onUndo: Undo;
}): React.JSX.Element {
  const { file, turnId, onOpenFile, onUndo } = props;
  const path = plain(file.path);
  const kind = fileKind(file);
  return (
    <div className="jp-Pernix-diff" role="group" aria-label={`All changes of ${path}`} tabIndex={-1}>
      <div className="jp-Pernix-diffHead">
        {onOpenFile && file.now !== null ? (
          <button type="button" className="jp-Pernix-link" onClick={() => onOpenFile(file.path)}>
            {path}
          </button>
        ) : (
          <span>{path}</span>
        )}
        {kind && <span className="jp-Pernix-chip">{kind}</span>}
        {changedSince(file) && <span className="jp-Pernix-dim">{UNDO.since}</span>}
        {file.by_commands && <span className="jp-Pernix-dim">{UNDO.byCommands}</span>}
        {file.turns.length > 1 && (
          <span className="jp-Pernix-dim">in {file.turns.length} turns, all shown</span>
        )}
        <span className="jp-Pernix-added">+{file.added_lines}</span>
        <span className="jp-Pernix-removed">−{file.removed_lines}</span>
        {file.undone ? (
          <span className="jp-Pernix-chip">{UNDO.undone}</span>
        ) : (
          <Once label={UNDO.one} says={`${UNDO.one}: ${path}`} onDo={() => onUndo(turnId, [file.path])} />
        )}
      </div>
      {!file.undone && file.diff && <DiffText diff={file.diff} />}
    </div>
  );
}

/** A button that waits for what it began. */
function Once(props: { label: string; says?: string; onDo: () => Promise<void> }): React.JSX.Element {
  const { label, says, onDo } = props;
  const [doing, setDoing] = React.useState(false);
  return (
    <button
      type="button"
      className="jp-Pernix-button"
      aria-label={says}
      aria-disabled={doing}
      onClick={() => {
        if (!doing) {
          setDoing(true);
          void onDo().finally(() => setDoing(false));
        }
      }}
    >
      {label}
    </button>
  );
}

/** All of a turn, or all of the session, after a confirmation that says what comes back and what cannot. */
function Undos(props: {
  turn: TurnView;
  mine: readonly ChangedFile[];
  files: readonly ChangedFile[];
  onUndo: Undo;
}): React.JSX.Element {
  const { turn, mine, files, onUndo } = props;
  const [asked, setAsked] = React.useState<'turn' | 'session' | null>(null);
  const box = React.useRef<HTMLDivElement>(null);
  React.useEffect(() => {
    if (asked !== null) {
      box.current?.focus();
    }
  }, [asked]);
  const open = (all: readonly ChangedFile[]) => all.filter(file => !file.undone);
  if (asked === null) {
    return (
      <div className="jp-Pernix-choices">
        {open(mine).length > 0 && (
          <button type="button" className="jp-Pernix-button" onClick={() => setAsked('turn')}>
            {UNDO.turn}
          </button>
        )}
        {open(files).length > 0 && (
          <button type="button" className="jp-Pernix-button" onClick={() => setAsked('session')}>
            {UNDO.session}
          </button>
        )}
      </div>
    );
  }
  const whole = asked === 'session';
  return (
    <div
      className="jp-Pernix-approval"
      role="group"
      aria-label={whole ? UNDO.session : UNDO.turn}
      tabIndex={-1}
      ref={box}
    >
      <div>{whole ? UNDO.before : UNDO.beforeTurn}</div>
      <ul className="jp-Pernix-undoList">
        {open(whole ? files : mine).map(file => (
          <li key={file.path}>
            {plain(file.path)}
            {changedSince(file) ? ` (${UNDO.left})` : file.before === null && ` (${UNDO.gone})`}
          </li>
        ))}
      </ul>
      <div className="jp-Pernix-dim">{UNDO.not}</div>
      <div className="jp-Pernix-choices">
        <Once
          label={whole ? UNDO.session : UNDO.turn}
          onDo={() => onUndo(whole ? null : turn.turn_id, []).then(() => setAsked(null))}
        />
        <button type="button" className="jp-Pernix-button" onClick={() => setAsked(null)}>
          {UNDO.cancel}
        </button>
      </div>
    </div>
  );
}

function Done(props: { done: readonly FileUndone[] | null }): React.JSX.Element {
  const { done } = props;
  const refused = done?.filter(file => file.reason !== '') ?? [];
  return (
    <div role="status" aria-label="What was put back">
      {done !== null && (
        <>
          <div>{undoneWords(done)}</div>
          {refused.length > 0 && (
            <ul className="jp-Pernix-undoList">
              {refused.map(file => (
                <li key={file.path}>
                  {plain(file.path)}: {sentence(plain(file.reason))}
                </li>
              ))}
            </ul>
          )}
        </>
      )}
    </div>
  );
}
