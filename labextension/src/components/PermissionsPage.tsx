import * as React from 'react';
import type { Mode, Permissions, SavedRule, SessionView } from '../api/types.gen';
import { Consents } from './Consents';
import { denyWords, PERMISSIONS, ruleWords, sandboxWords } from './gatewords';
import { IconButton } from './icons';
import { MODES, plain, sentence } from './words';

/** Where a rule is kept, and what it does. */
export interface RulePlace {
  deny: boolean;
  everywhere: boolean;
}

export interface PermissionsPageProps {
  view: SessionView;
  /** `null` until they were read. */
  permissions: Permissions | null;
  /** Whether sandboxes work here; `null`: not known. */
  sandbox: { works: boolean; why: string } | null;
  onMode: (mode: Mode) => void;
  onSandbox: (given: { sandbox?: boolean; network?: boolean }) => void;
  /** True when it is saved. */
  onAdd: (rule: string, place: RulePlace) => Promise<boolean>;
  onRemove: (rule: string, place: RulePlace) => void;
  /** A command of the folder may be started, or not any more. */
  onConsent: (digest: string, given: boolean) => void;
}

/** What a session may do: its mode, its sandbox, and the rules that hold in it. */
export function PermissionsPage(props: PermissionsPageProps): React.JSX.Element {
  const { view, permissions, onAdd, onRemove } = props;
  const folder = plain(view.space_root) || 'the top folder';
  return (
    <div className="jp-Pernix-permissions" role="group" aria-label={PERMISSIONS.title}>
      <h2>
        {PERMISSIONS.title} in {folder}
      </h2>
      <ModeSection {...props} />
      <SandboxSection {...props} />
      {permissions?.broken && (
        <div className="jp-Pernix-notice" role="alert">
          <div>The saved rules are not used: {plain(permissions.broken)}.</div>
          <div className="jp-Pernix-hint">
            Until that is mended, you are asked about everything. Mend or delete the file that is named here;
            it is left as it is.
          </div>
        </div>
      )}
      <Consents
        permissions={permissions}
        onGive={digest => props.onConsent(digest, true)}
        onTake={digest => props.onConsent(digest, false)}
      />
      <Rules
        title={PERMISSIONS.unasked}
        rules={permissions?.allow ?? null}
        deny={false}
        words={ruleWords}
        example={PERMISSIONS.allowExample}
        onAdd={onAdd}
        onRemove={onRemove}
      />
      <Rules
        title={PERMISSIONS.never}
        rules={permissions?.deny ?? null}
        deny
        words={denyWords}
        example={PERMISSIONS.denyExample}
        onAdd={onAdd}
        onRemove={onRemove}
      />
      {permissions !== null && permissions.session.length > 0 && (
        <section aria-label={PERMISSIONS.session}>
          <h3>{PERMISSIONS.session}</h3>
          <ul className="jp-Pernix-list">
            {permissions.session.map(rule => (
              <li key={rule} className="jp-Pernix-rule">
                <span className="jp-Pernix-ruleText">{sentence(ruleWords(rule))}</span>
              </li>
            ))}
          </ul>
          <p className="jp-Pernix-dim">{PERMISSIONS.sessionEnds}</p>
        </section>
      )}
    </div>
  );
}

function ModeSection(props: PermissionsPageProps): React.JSX.Element {
  const { view, onMode } = props;
  return (
    <section aria-label="Mode of this session">
      <h3>Mode</h3>
      <div className="jp-Pernix-choices">
        {(Object.keys(MODES) as Mode[]).map(mode => (
          <button
            key={mode}
            type="button"
            className="jp-Pernix-button"
            aria-pressed={mode === view.mode}
            title={MODES[mode].means}
            onClick={() => onMode(mode)}
          >
            {MODES[mode].label}
          </button>
        ))}
      </div>
      <p className="jp-Pernix-dim">{MODES[view.mode].means}.</p>
    </section>
  );
}

function SandboxSection(props: PermissionsPageProps): React.JSX.Element {
  const { view, sandbox, onSandbox } = props;
  const { label, means } = sandboxWords(view);
  const can = sandbox?.works === true;
  return (
    <section aria-label="Sandbox">
      <h3>{label}</h3>
      <p className="jp-Pernix-dim">{means}</p>
      {(can || view.sandbox) && (
        <label className="jp-Pernix-check">
          <input
            type="checkbox"
            checked={view.sandbox}
            onChange={event => onSandbox({ sandbox: event.target.checked })}
          />
          <span>{PERMISSIONS.works}</span>
        </label>
      )}
      {view.sandbox && (
        <label className="jp-Pernix-check">
          <input
            type="checkbox"
            checked={view.network}
            onChange={event => onSandbox({ network: event.target.checked })}
          />
          <span>{PERMISSIONS.network}</span>
        </label>
      )}
      {!can && (
        <p className="jp-Pernix-hint">
          {sandbox === null ? PERMISSIONS.unknown : `No sandbox works on this machine: ${plain(sandbox.why)}`}
        </p>
      )}
    </section>
  );
}

function Rules(props: {
  title: string;
  rules: readonly SavedRule[] | null;
  deny: boolean;
  words: (rule: string) => string;
  example: string;
  onAdd: PermissionsPageProps['onAdd'];
  onRemove: PermissionsPageProps['onRemove'];
}): React.JSX.Element {
  const { title, rules, deny, words, onAdd, onRemove } = props;
  const section = React.useRef<HTMLElement>(null);
  return (
    <section aria-label={title} ref={section} tabIndex={-1}>
      <h3>{title}</h3>
      {rules?.length === 0 && <p className="jp-Pernix-dim">{PERMISSIONS.none}</p>}
      <ul className="jp-Pernix-list">
        {rules?.map(saved => (
          <li key={`${saved.everywhere} ${saved.rule}`} className="jp-Pernix-rule">
            <span className="jp-Pernix-ruleText" title={plain(saved.rule)}>
              {sentence(words(saved.rule))}
              <span className="jp-Pernix-dim"> {whereWords(saved)}</span>
              {saved.fault !== '' && (
                <span className="jp-Pernix-hint"> Has no effect: {plain(saved.fault)}.</span>
              )}
            </span>
            <IconButton
              icon="close"
              label={`Remove the rule ${plain(saved.rule)}`}
              onClick={() => {
                onRemove(saved.rule, { deny, everywhere: saved.everywhere });
                // Its button goes.
                section.current?.focus({ preventScroll: true });
              }}
            />
          </li>
        ))}
      </ul>
      <AddRule
        title={title}
        example={props.example}
        onAdd={(rule, everywhere) => onAdd(rule, { deny, everywhere })}
      />
    </section>
  );
}

function whereWords(saved: SavedRule): string {
  const where = saved.everywhere ? PERMISSIONS.everywhere : PERMISSIONS.here;
  const day = saved.added_at === '' ? '' : `, since ${new Date(saved.added_at).toLocaleDateString()}`;
  return `${where}${day}`;
}

function AddRule(props: {
  title: string;
  example: string;
  onAdd: (rule: string, everywhere: boolean) => Promise<boolean>;
}): React.JSX.Element {
  const { title, example, onAdd } = props;
  const [rule, setRule] = React.useState('');
  const [everywhere, setEverywhere] = React.useState(false);
  const [saving, setSaving] = React.useState(false);
  const add = async () => {
    if (rule.trim() === '' || saving) {
      return;
    }
    setSaving(true);
    if (await onAdd(rule.trim(), everywhere)) {
      setRule('');
    }
    setSaving(false);
  };
  return (
    <form
      className="jp-Pernix-addRule"
      onSubmit={event => {
        event.preventDefault();
        void add();
      }}
    >
      <input
        className="jp-Pernix-input"
        aria-label={`${PERMISSIONS.add}: ${title}`}
        placeholder={`${PERMISSIONS.add}: ${example}`}
        spellCheck={false}
        value={rule}
        readOnly={saving}
        onChange={event => setRule(event.target.value)}
      />
      <div className="jp-Pernix-choices">
        <label className="jp-Pernix-check">
          <input
            type="checkbox"
            checked={everywhere}
            onChange={event => setEverywhere(event.target.checked)}
          />
          <span>{PERMISSIONS.everywhere}</span>
        </label>
        <button type="submit" className="jp-Pernix-button" aria-disabled={rule.trim() === '' || saving}>
          Add
        </button>
      </div>
    </form>
  );
}
