import { type RenderProps, widget } from './mount';

const AGAIN = 300_000;
/** Milliseconds after which a view that is still seen says so again. */

/** Tells the kernel while this view can be seen, since it looks at the GPUs only then. */
export function tellSeen({ model, el }: RenderProps): () => void {
  const view = crypto.randomUUID?.() ?? String(Math.random());
  let onScreen = false;
  let told = false;
  const tell = (again = false) => {
    const visible = onScreen && document.visibilityState === 'visible';
    if (visible !== told || (visible && again)) {
      told = visible;
      model.send({ view, visible });
    }
  };
  const onPage = () => tell();
  const observer = new IntersectionObserver(entries => {
    onScreen = entries.at(-1)?.isIntersecting ?? false;
    tell();
  });
  observer.observe(el);
  document.addEventListener('visibilitychange', onPage);
  const timer = setInterval(() => tell(true), AGAIN);
  return () => {
    observer.disconnect();
    document.removeEventListener('visibilitychange', onPage);
    clearInterval(timer);
    onScreen = false;
    tell();
  };
}

export default widget('vram', tellSeen).default;
