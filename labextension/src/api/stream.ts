/** The one event stream of a browser tab: all sessions, resumed by the last id for as long as the page lives. */
import type { IDisposable } from '@lumino/disposable';
import { Signal, type ISignal } from '@lumino/signaling';
import type { AnyStored } from '../model/reduce';
import { SseParser, type SseMessage } from './sse';
import { send, type Transport } from './transport';
import type { Delta, PageRequest } from './types.gen';

/** `lost` since when, and when the next try is due (milliseconds of the page's clock). */
export type Connection =
  { status: 'connecting' } | { status: 'open' } | { status: 'lost'; since: number; retryAt: number };

export interface StreamOptions {
  transport: Transport;
  /** Waits between tries in milliseconds; the last one repeats. */
  waits?: readonly number[];
  /** A connection that is silent for longer than this is dead: the server sends a heartbeat every 15 s. */
  silence?: number;
  now?: () => number;
}

const WAITS = [500, 1000, 2000, 4000, 8000, 15000];

export class EventStream implements IDisposable {
  constructor(options: StreamOptions) {
    this._transport = options.transport;
    this._waits = options.waits ?? WAITS;
    this._silence = options.silence ?? 45_000;
    this._now = options.now ?? (() => Date.now());
  }

  /** A stored event, in order, each once as far as the server sends them so. */
  get stored(): ISignal<this, AnyStored> {
    return this._stored;
  }

  get delta(): ISignal<this, Delta> {
    return this._delta;
  }

  /** Something that the server asks a page to do; other pages leave it alone. */
  get page(): ISignal<this, PageRequest> {
    return this._page;
  }

  get connectionChanged(): ISignal<this, Connection> {
    return this._connectionChanged;
  }

  /** The server's log is shorter than what was read: it is another store, and everything has to be read again. */
  get reset(): ISignal<this, void> {
    return this._reset;
  }

  get connection(): Connection {
    return this._connection;
  }

  get isDisposed(): boolean {
    return this._disposed;
  }

  /** Begin after this event; to be called once. */
  start(after: number): void {
    this._after = after;
    void this._keepReading();
  }

  /** Try again now rather than at the next try, e.g. since the network came back. */
  wake(): void {
    this._wakeUp?.();
  }

  dispose(): void {
    if (this._disposed) {
      return;
    }
    this._disposed = true;
    this._abort?.abort();
    this.wake();
    Signal.clearData(this);
  }

  private async _keepReading(): Promise<void> {
    let failures = 0;
    let lostSince = 0;
    while (!this._disposed) {
      try {
        await this._read(() => {
          failures = 0;
          lostSince = 0;
        });
      } catch (error) {
        if (!this._disposed && failures === 0) {
          console.warn('jupyter_pernix: the event stream broke and will be resumed', error);
        }
      }
      if (this._disposed) {
        return;
      }
      lostSince ||= this._now();
      const wait = this._waits[Math.min(failures, this._waits.length - 1)] ?? 0;
      failures++;
      this._become({ status: 'lost', since: lostSince, retryAt: this._now() + wait });
      await this._pause(wait);
    }
  }

  private async _read(opened: () => void): Promise<void> {
    const abort = new AbortController();
    this._abort = abort;
    const watchdog = new Watchdog(this._silence, () => abort.abort());
    try {
      const streaming: Transport = {
        request: (path, init) =>
          this._transport.request(path, {
            ...init,
            signal: abort.signal,
            cache: 'no-store',
            headers: { Accept: 'text/event-stream', 'Last-Event-ID': String(this._after) }
          })
      };
      const response = await send(streaming, 'GET', `stream?after=${this._after}`, 200);
      const reader = response.body?.getReader();
      if (reader === undefined) {
        throw new Error('the stream has no body');
      }
      abort.signal.addEventListener('abort', () => void reader.cancel().catch(() => undefined));
      opened();
      this._become({ status: 'open' });
      const parser = new SseParser();
      for (;;) {
        const { done, value } = await reader.read();
        if (done || this._disposed) {
          return;
        }
        watchdog.pat();
        parser.feed(value).forEach(message => this._take(message));
      }
    } finally {
      watchdog.dispose();
      abort.abort();
    }
  }

  private _take(message: SseMessage): void {
    switch (message.event) {
      case 'pernix': {
        const event: AnyStored = JSON.parse(message.data);
        this._after = Math.max(this._after, event.seq);
        this._stored.emit(event);
        break;
      }
      case 'delta': {
        const delta: Delta = JSON.parse(message.data);
        this._delta.emit(delta);
        break;
      }
      case 'page': {
        const request: PageRequest = JSON.parse(message.data);
        this._page.emit(request);
        break;
      }
      case 'hello': {
        const { last_seq: last }: { last_seq: number } = JSON.parse(message.data);
        if (last < this._after) {
          this._after = last;
          this._reset.emit();
        }
        break;
      }
    }
  }

  private _become(connection: Connection): void {
    this._connection = connection;
    this._connectionChanged.emit(connection);
  }

  private _pause(milliseconds: number): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(resolve, milliseconds);
      this._wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  private readonly _transport: Transport;
  private readonly _waits: readonly number[];
  private readonly _silence: number;
  private readonly _now: () => number;
  private readonly _stored = new Signal<this, AnyStored>(this);
  private readonly _delta = new Signal<this, Delta>(this);
  private readonly _page = new Signal<this, PageRequest>(this);
  private readonly _connectionChanged = new Signal<this, Connection>(this);
  private readonly _reset = new Signal<this, void>(this);
  private _after = 0;
  private _connection: Connection = { status: 'connecting' };
  private _abort: AbortController | null = null;
  private _wakeUp: (() => void) | null = null;
  private _disposed = false;
}

/** Barks when it was not patted for a while. */
class Watchdog {
  constructor(
    private readonly _patience: number,
    private readonly _bark: () => void
  ) {
    this.pat();
  }

  pat(): void {
    clearTimeout(this._timer);
    this._timer = setTimeout(this._bark, this._patience);
  }

  dispose(): void {
    clearTimeout(this._timer);
  }

  private _timer: ReturnType<typeof setTimeout> | undefined;
}
