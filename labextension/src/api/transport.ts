/** How requests leave the page. The one in use goes through JupyterLab's `ServerConnection`; tests give their own. */
export interface Transport {
  /** `path` is below `/pernix/api`. Rejects only when there is no answer at all. */
  request(path: string, init: RequestInit): Promise<Response>;
}

/** What a person is told when something failed. */
export interface Trouble {
  message: string;
  hint: string;
  /** The server could not be reached; it is over when it can. */
  offline: boolean;
}

/** A request that was refused (`status` of the answer) or never answered (`status` 0). */
export class RequestFailed extends Error implements Trouble {
  constructor(
    readonly status: number,
    message: string,
    readonly hint: string = ''
  ) {
    super(message);
    this.name = 'RequestFailed';
  }

  get offline(): boolean {
    return this.status === 0;
  }
}

export function asTrouble(error: unknown): Trouble {
  if (error instanceof RequestFailed) {
    return { message: error.message, hint: error.hint, offline: error.offline };
  }
  return { message: error instanceof Error ? error.message : String(error), hint: '', offline: false };
}

function textAt(body: unknown, key: string): string {
  const value =
    typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[key] : undefined;
  return typeof value === 'string' ? value : '';
}

async function refusal(response: Response): Promise<RequestFailed> {
  const body: unknown = await response.json().catch(() => null);
  const place = textAt(body, 'place');
  const message = textAt(body, 'message') || `The server answered ${response.status} ${response.statusText}.`;
  const hint =
    textAt(body, 'hint') ||
    (response.status === 403 ? 'Your login may have ended: reload the page.' : '') ||
    (response.status === 404 && body === null
      ? 'Is the server extension on? See `jupyter server extension list`.'
      : '');
  return new RequestFailed(response.status, place ? `${place}: ${message}` : message, hint);
}

/** Send a request and check its status.
 *
 * Throws `RequestFailed` if the status is not the expected one or there is no answer.
 */
export async function send(
  transport: Transport,
  method: string,
  path: string,
  expected: number,
  body?: unknown
): Promise<Response> {
  let response: Response;
  const init: RequestInit = { method };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { 'Content-Type': 'application/json' };
  }
  try {
    response = await transport.request(path, init);
  } catch (error) {
    throw new RequestFailed(
      0,
      'The Jupyter server does not answer.',
      error instanceof Error && error.name === 'AbortError'
        ? ''
        : 'Is it still running? Nothing you typed is lost.'
    );
  }
  if (response.status !== expected) {
    throw await refusal(response);
  }
  return response;
}
