import {
  errorRendererFactory,
  imageRendererFactory,
  type IRenderMimeRegistry,
  RenderedError,
  RenderedImage,
  RenderedText,
  RenderMimeRegistry,
  standardRendererFactories,
  textRendererFactory
} from '@jupyterlab/rendermime';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { pictureWords } from '../components/words';
import { guard, keepWebLinks, withoutDiagrams } from './guard';

/** JupyterLab's sanitiser, and after it our guard. */
class GuardedSanitizer implements IRenderMime.ISanitizer {
  constructor(private readonly _inner: IRenderMime.ISanitizer) {}

  readonly allowNamedProperties = false;
  readonly allowCommandLinker = false;

  getAutolink(): boolean {
    return this._inner.getAutolink?.() ?? true;
  }

  sanitize(dirty: string, options?: IRenderMime.ISanitizerOptions): string {
    return guard(this._inner.sanitize(dirty, options));
  }
}

/** A picture with its words. */
class NamedImage extends RenderedImage {
  override async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    await super.renderModel(model);
    this.node.querySelector('img')?.setAttribute('alt', pictureWords(model.data['text/plain']));
  }
}

class WebLinkedText extends RenderedText {
  override async render(model: IRenderMime.IMimeModel): Promise<void> {
    await super.render(model);
    keepWebLinks(this.node);
  }
}

class WebLinkedError extends RenderedError {
  override async render(model: IRenderMime.IMimeModel): Promise<void> {
    await super.render(model);
    keepWebLinks(this.node);
  }
}

/** What is drawn otherwise than JupyterLab does. */
const OURS: ReadonlyMap<IRenderMime.IRendererFactory, IRenderMime.IRendererFactory> = new Map([
  [imageRendererFactory, { ...imageRendererFactory, createRenderer: options => new NamedImage(options) }],
  [textRendererFactory, { ...textRendererFactory, createRenderer: options => new WebLinkedText(options) }],
  [errorRendererFactory, { ...errorRendererFactory, createRenderer: options => new WebLinkedError(options) }]
]);

const RUNS_SCRIPTS = 'application/javascript';

/**
 * A registry for what a model wrote and for what its code printed. It knows the standard types only: a renderer of another extension
 * may load data by an address in the output.
 */
export function guardedRegistry(base: IRenderMimeRegistry): IRenderMimeRegistry {
  const { markdownParser, latexTypesetter } = base;
  return new RenderMimeRegistry({
    initialFactories: standardRendererFactories
      .filter(factory => !factory.mimeTypes.includes(RUNS_SCRIPTS))
      .map(factory => OURS.get(factory) ?? factory),
    sanitizer: new GuardedSanitizer(base.sanitizer),
    ...(latexTypesetter ? { latexTypesetter } : {}),
    ...(markdownParser
      ? { markdownParser: { render: text => markdownParser.render(withoutDiagrams(text)) } }
      : {})
  });
}
