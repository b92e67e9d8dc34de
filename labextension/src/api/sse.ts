/** Bytes of a server-sent event stream → messages. Pure; one parser for one connection. */
export interface SseMessage {
  /** '' when the message has none */
  id: string;
  event: string;
  data: string;
}

export class SseParser {
  private readonly _decoder = new TextDecoder();
  private _rest = '';
  private _id = '';
  private _event = '';
  private _data: string[] = [];

  /** The messages that end in this chunk. */
  feed(chunk: Uint8Array): SseMessage[] {
    const lines = (this._rest + this._decoder.decode(chunk, { stream: true })).split(/\r\n|\n|\r(?!$)/);
    this._rest = lines.pop() ?? '';
    return lines.map(line => this._line(line)).filter(message => message !== null);
  }

  private _line(line: string): SseMessage | null {
    if (line === '') {
      return this._end();
    }
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'id') {
      this._id = value;
    } else if (field === 'event') {
      this._event = value;
    } else if (field === 'data') {
      this._data.push(value);
    }
    return null;
  }

  private _end(): SseMessage | null {
    const message = { id: this._id, event: this._event || 'message', data: this._data.join('\n') };
    const empty = this._data.length === 0;
    this._id = '';
    this._event = '';
    this._data = [];
    return empty ? null : message;
  }
}
