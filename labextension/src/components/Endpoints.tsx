import * as React from 'react';
import type {
  Discovery,
  EndpointCreate,
  EndpointInfo,
  LocalStatus,
  ModelProtocol,
  Role
} from '../api/types.gen';
import { IconButton } from './icons';
import { bytes, count, plain, sentence } from './words';

export interface EndpointsProps {
  endpoints: readonly EndpointInfo[];
  discoveries: readonly Discovery[];
  local: LocalStatus | null;
  loaded: boolean;
  busy: string;
  onTour: () => void;
  onDiscover: () => void;
  onAdd: (body: EndpointCreate) => Promise<boolean>;
  onRemove: (name: string) => void;
  onProbe: (name: string) => void;
  onDefault: (name: string) => void;
  onStartLocal: (path: string) => void;
  onStopLocal: () => void;
}

/** Which models there are, and the ways to one. */
export function Endpoints(props: EndpointsProps): React.JSX.Element {
  const models = props.endpoints.filter(entry => entry.kind !== 'tour');
  const usable = models.some(entry => entry.status !== 'failed');
  const [changing, setChanging] = React.useState<EndpointInfo | null>(null);
  const [changed, setChanged] = React.useState(false);
  const tour = <TourCard onTour={props.onTour} disabled={props.busy !== ''} />;
  return (
    <div className="jp-Pernix-endpoints">
      {props.loaded && !usable && (
        <section className="jp-Pernix-welcome" aria-label="Welcome">
          <h2>Bring a model, or look first</h2>
          <p>
            Pernix works with your own model: any OpenAI-compatible address, a server on this machine, or a
            model file. Nothing is sent anywhere else.
          </p>
        </section>
      )}
      {!usable && tour}
      <div className="jp-Pernix-busy" role="status">
        {props.busy}
      </div>
      {models.length > 0 && (
        <section aria-label="Models">
          <h3>Models</h3>
          <ul className="jp-Pernix-list">
            {models.map(entry => (
              <EndpointRow key={entry.name} endpoint={entry} onChange={setChanging} {...props} />
            ))}
          </ul>
        </section>
      )}
      <Discoveries {...props} />
      <AddForm
        key={changing?.name ?? ''}
        changes={changing}
        focused={changed}
        onEnd={() => {
          setChanging(null);
          setChanged(true);
        }}
        {...props}
      />
      <Local {...props} />
      {usable && tour}
    </div>
  );
}

function TourCard(props: { onTour: () => void; disabled: boolean }): React.JSX.Element {
  return (
    <section className="jp-Pernix-tour" aria-label="Tour">
      <div>
        <strong>See it work in a minute, without a model.</strong> A recorded run of a real task: real files,
        a real kernel, a recorded voice. <em>It is a recorded tour, not a model.</em>
      </div>
      <button
        type="button"
        className="jp-Pernix-button jp-mod-accept"
        disabled={props.disabled}
        onClick={props.onTour}
        title="A recorded tour, not a model"
      >
        Take the tour
      </button>
    </section>
  );
}

const STATUS: Record<EndpointInfo['status'], string> = {
  unknown: 'Not tried yet',
  ready: 'Ready',
  limited: 'Works with limits',
  failed: 'Does not work'
};

const SOURCES: Record<EndpointInfo['source'], string> = {
  settings: 'from the settings file',
  environment: 'from the environment',
  saved: 'added here',
  found: 'found on this machine',
  local: 'served by Pernix',
  tour: 'recorded tour'
};

function EndpointRow(
  props: EndpointsProps & { endpoint: EndpointInfo; onChange: (endpoint: EndpointInfo) => void }
): React.JSX.Element {
  const { endpoint, busy, onRemove, onProbe, onDefault, onChange } = props;
  const name = plain(endpoint.name);
  return (
    <li className="jp-Pernix-endpoint" aria-label={name}>
      <div className="jp-Pernix-endpointHead">
        <span
          className={`jp-Pernix-dot jp-mod-${endpoint.status}`}
          role="img"
          aria-label={STATUS[endpoint.status]}
          title={STATUS[endpoint.status]}
        />
        <strong>{name}</strong>
        {endpoint.default && <span className="jp-Pernix-chip">Default</span>}
        {endpoint.roles.map(role => (
          <span key={role} className="jp-Pernix-chip" title={ROLES[role].means}>
            {ROLES[role].label}
          </span>
        ))}
        <span className="jp-Pernix-dim">{STATUS[endpoint.status]}</span>
      </div>
      <div className="jp-Pernix-dim">
        {[
          endpoint.model ? plain(endpoint.model) : 'no model chosen',
          endpoint.context_length ? `${count(endpoint.context_length)} context` : '',
          endpoint.base_url,
          SOURCES[endpoint.source]
        ]
          .filter(fact => fact !== '')
          .join(' · ')}
      </div>
      {endpoint.protocol !== null && (
        <div className="jp-Pernix-dim">
          {PROTOCOLS[endpoint.protocol].does}
          {endpoint.protocol === 'actions' &&
            endpoint.constraint !== null &&
            `, held to a schema by ${endpoint.constraint}`}
        </div>
      )}
      {endpoint.abilities.length > 0 && (
        <ul className="jp-Pernix-abilities" aria-label={`Abilities of ${name}`}>
          {endpoint.abilities.map(ability => (
            <li key={ability.name} className={`jp-mod-${ability.ok}`} title={ability.detail}>
              {ability.ok === null ? '?' : ability.ok ? '✓' : '✗'} {ABILITIES[ability.name]}
              {ability.ok === false && ability.detail && (
                <span className="jp-Pernix-why">: {plain(ability.detail)}</span>
              )}
            </li>
          ))}
        </ul>
      )}
      {endpoint.hint && <div className="jp-Pernix-hint">{sentence(endpoint.hint)}</div>}
      <div className="jp-Pernix-choices">
        <button
          type="button"
          className="jp-Pernix-button"
          disabled={busy !== ''}
          onClick={() => onProbe(endpoint.name)}
        >
          Test
        </button>
        {!endpoint.default && (
          <button
            type="button"
            className="jp-Pernix-button"
            disabled={busy !== ''}
            onClick={() => onDefault(endpoint.name)}
          >
            Make default
          </button>
        )}
        {endpoint.source === 'saved' && (
          <button
            type="button"
            className="jp-Pernix-button"
            disabled={busy !== ''}
            onClick={() => onChange(endpoint)}
          >
            Change
          </button>
        )}
        {endpoint.source === 'saved' && (
          <IconButton icon="close" label={`Remove ${name}`} onClick={() => onRemove(endpoint.name)} />
        )}
      </div>
    </li>
  );
}

const ROLES: Record<Role, { label: string; means: string }> = {
  primary: { label: 'Primary', means: 'Carries turns' },
  background: { label: 'Background', means: 'Makes titles, plans and summaries, and carries workers' },
  backup: { label: 'Backup', means: 'Takes over when the primary fails for good' }
};

const PROTOCOLS: Record<ModelProtocol, { label: string; does: string }> = {
  tools: { label: 'Tool calls', does: 'Works by tool calls' },
  actions: { label: 'One action at a time', does: 'Works by one action at a time' },
  chat: { label: 'Chat only', does: 'Chat only: it can neither read, run nor change anything' }
};

const ABILITIES = {
  reachable: 'reachable',
  key: 'key accepted',
  model: 'has the model',
  context: 'tells its context length',
  streams: 'streams',
  tools: 'calls tools',
  json_schema: 'follows a schema'
} as const;

const SERVERS: Record<Discovery['kind'], string> = {
  openai: 'OpenAI-compatible server',
  ollama: 'Ollama',
  vllm: 'vLLM',
  sglang: 'SGLang',
  'llama.cpp': 'llama.cpp',
  lmstudio: 'LM Studio',
  local: 'Embedded model',
  tour: 'Recorded tour'
};

function Discoveries(props: EndpointsProps): React.JSX.Element {
  const { discoveries, busy, onDiscover } = props;
  return (
    <section aria-label="Servers on this machine">
      <h3>On this machine</h3>
      <p className="jp-Pernix-dim">
        Looks for Ollama, vLLM, SGLang, llama.cpp and LM Studio at their usual local ports.
      </p>
      {discoveries.length > 0 && (
        <ul className="jp-Pernix-found">
          {discoveries.map(entry => (
            <li key={entry.base_url}>
              <span className={`jp-Pernix-dot jp-mod-${entry.found ? 'ready' : 'rest'}`} aria-hidden="true" />
              {SERVERS[entry.kind]} <span className="jp-Pernix-dim">{entry.base_url}</span>{' '}
              {entry.found ? 'found' : 'not found'}
              {entry.found && entry.detail && <span className="jp-Pernix-dim"> ({entry.detail})</span>}
            </li>
          ))}
        </ul>
      )}
      <button type="button" className="jp-Pernix-button" disabled={busy !== ''} onClick={onDiscover}>
        Look for local servers
      </button>
    </section>
  );
}

type Values = Required<Pick<EndpointCreate, 'name' | 'base_url' | 'model' | 'api_key' | 'protocol'>>;

const EMPTY: Values = { name: '', base_url: '', model: '', api_key: '', protocol: 'auto' };

const WANTED = ['auto', 'tools', 'actions', 'chat'] as const;

function nameFrom(url: string): string {
  const [, host = '', port = ''] = /^https?:\/\/([^/:]+)(?::(\d+))?/.exec(url) ?? [];
  if (/^(localhost|[\d.]+)$/.test(host)) {
    return `local-${port || '80'}`;
  }
  return host.replace(/^(api|www)\./, '').split('.')[0] ?? '';
}

interface FormProps extends EndpointsProps {
  /** The endpoint that is being changed; null is a new one. */
  changes: EndpointInfo | null;
  /** Takes the focus when it appears. */
  focused: boolean;
  onEnd: () => void;
}

function AddForm(props: FormProps): React.JSX.Element {
  const { changes, onEnd } = props;
  const address = React.useRef<HTMLInputElement>(null);
  const [values, setValues] = React.useState(() =>
    changes === null
      ? EMPTY
      : { ...EMPTY, name: changes.name, base_url: changes.base_url, model: changes.model }
  );
  const set = (key: Exclude<keyof Values, 'protocol'>) => (event: React.ChangeEvent<HTMLInputElement>) =>
    setValues(old => ({ ...old, [key]: event.target.value }));
  const submit = async (event: React.FormEvent) => {
    event.preventDefault();
    const name = values.name.trim() || nameFrom(values.base_url);
    const saved = await props.onAdd({ ...values, base_url: values.base_url.trim(), name });
    if (saved) {
      setValues(EMPTY);
      address.current?.focus({ preventScroll: true });
      if (changes !== null) {
        onEnd();
      }
    }
  };
  return (
    <section aria-label={changes === null ? 'Add a model' : `Change ${plain(changes.name)}`}>
      <h3>{changes === null ? 'Add a model' : `Change ${plain(changes.name)}`}</h3>
      <form className="jp-Pernix-form" onSubmit={event => void submit(event)}>
        <Field label="Address" hint="OpenAI-compatible, usually ends in /v1">
          <input
            className="jp-Pernix-input"
            type="url"
            required
            ref={address}
            autoFocus={changes !== null || props.focused}
            placeholder="http://127.0.0.1:8000/v1"
            value={values.base_url}
            onChange={set('base_url')}
          />
        </Field>
        <Field label="Model" hint="Empty: the first it offers">
          <input className="jp-Pernix-input" value={values.model} onChange={set('model')} />
        </Field>
        <Field label="Key" hint="Kept on the server, readable by you alone">
          <input
            className="jp-Pernix-input"
            type="password"
            autoComplete="off"
            placeholder={changes?.has_key ? 'Type it again' : ''}
            value={values.api_key}
            onChange={set('api_key')}
          />
        </Field>
        <Field label="Protocol" hint="Find out: a test decides, and takes the best that it can do">
          <select
            className="jp-Pernix-select"
            value={values.protocol}
            onChange={event => {
              const protocol = WANTED.find(one => one === event.target.value);
              if (protocol !== undefined) {
                setValues(old => ({ ...old, protocol }));
              }
            }}
          >
            {WANTED.map(one => (
              <option key={one} value={one}>
                {one === 'auto' ? 'Find out' : PROTOCOLS[one].label}
              </option>
            ))}
          </select>
        </Field>
        <Field label="Name" hint="How it is called here">
          <input
            className="jp-Pernix-input"
            placeholder={nameFrom(values.base_url)}
            readOnly={changes !== null}
            value={values.name}
            onChange={set('name')}
          />
        </Field>
        <div className="jp-Pernix-choices">
          <button
            type="submit"
            className="jp-Pernix-button"
            disabled={props.busy !== '' || !values.base_url.trim()}
          >
            {changes === null ? 'Add and test' : 'Save and test'}
          </button>
          {changes !== null && (
            <button type="button" className="jp-Pernix-button" onClick={onEnd}>
              Leave as it is
            </button>
          )}
        </div>
      </form>
    </section>
  );
}

function Field(props: { label: string; hint: string; children: React.ReactElement }): React.JSX.Element {
  const id = React.useId();
  return (
    <div className="jp-Pernix-formRow">
      <label htmlFor={id}>{props.label}</label>
      {React.cloneElement(props.children, { id, title: props.hint, 'aria-describedby': `${id}-hint` })}
      <span className="jp-Pernix-dim" id={`${id}-hint`}>
        {props.hint}
      </span>
    </div>
  );
}

function Local(props: EndpointsProps): React.JSX.Element | null {
  const { local, busy, onStartLocal, onStopLocal } = props;
  const [path, setPath] = React.useState('');
  if (local === null) {
    return null;
  }
  const running = local.models.some(model => model.state === 'loading' || model.state === 'ready');
  return (
    <section aria-label="Embedded model">
      <h3>Embedded model</h3>
      <p className="jp-Pernix-dim">Serves a GGUF file on this machine, for this Jupyter server only.</p>
      {local.hint && <div className="jp-Pernix-hint">{sentence(local.hint)}</div>}
      <ul className="jp-Pernix-list">
        {local.models.map(model => (
          <li key={model.path} className="jp-Pernix-endpoint" title={model.path}>
            <div className="jp-Pernix-endpointHead">
              <span
                className={`jp-Pernix-dot jp-mod-${DOTS[model.state]}`}
                role="img"
                aria-label={model.state}
              />
              <span className="jp-Pernix-rowTitle">
                {plain(model.path.split(/[\\/]/).pop() ?? model.path)}
              </span>
              <span className="jp-Pernix-dim">{bytes(model.size_bytes)}</span>
            </div>
            {model.state === 'loading' && (
              <div className="jp-Pernix-progress" role="progressbar" aria-label="Loading the model" />
            )}
            {model.detail && <div className="jp-Pernix-dim">{model.detail}</div>}
            <div className="jp-Pernix-choices">
              {model.state === 'ready' || model.state === 'loading' ? (
                <button type="button" className="jp-Pernix-button" onClick={onStopLocal}>
                  Stop serving
                </button>
              ) : (
                <button
                  type="button"
                  className="jp-Pernix-button"
                  disabled={!local.installed || running || busy !== ''}
                  onClick={() => onStartLocal(model.path)}
                >
                  Start
                </button>
              )}
            </div>
          </li>
        ))}
      </ul>
      {local.installed && !running && (
        <form
          className="jp-Pernix-pathForm"
          onSubmit={event => {
            event.preventDefault();
            onStartLocal(path.trim());
          }}
        >
          <input
            className="jp-Pernix-input"
            aria-label="Path of a GGUF file"
            placeholder="Path of a .gguf file on the server"
            value={path}
            onChange={event => setPath(event.target.value)}
          />
          <button type="submit" className="jp-Pernix-button" disabled={!path.trim() || busy !== ''}>
            Start
          </button>
        </form>
      )}
    </section>
  );
}

const DOTS = { available: 'rest', loading: 'busy', ready: 'ready', failed: 'failed' } as const;
