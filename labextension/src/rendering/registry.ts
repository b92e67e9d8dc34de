import {
  imageRendererFactory,
  type IRenderMimeRegistry,
  RenderedImage,
  RenderMimeRegistry,
  standardRendererFactories
} from '@jupyterlab/rendermime';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { pictureWords } from '../components/words';
import { guard, withoutDiagrams } from './guard';

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

const namedImages: IRenderMime.IRendererFactory = {
  ...imageRendererFactory,
  createRenderer: options => new NamedImage(options)
};

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
      .map(factory => (factory === imageRendererFactory ? namedImages : factory)),
    sanitizer: new GuardedSanitizer(base.sanitizer),
    ...(latexTypesetter ? { latexTypesetter } : {}),
    ...(markdownParser
      ? { markdownParser: { render: text => markdownParser.render(withoutDiagrams(text)) } }
      : {})
  });
}
