import { type RenderProps, tell } from './mount';

/** Milliseconds after which a view that is still seen says so again. */
const AGAIN = 300_000;

/** Tells the kernel while this view can be seen, since it looks at the GPUs only then. */
export function tellSeen({ model, el }: RenderProps): () => void {
  const view = crypto.randomUUID?.() ?? String(Math.random());
  let onScreen = false;
  let told = false;
  const look = (again = false) => {
    const visible = onScreen && document.visibilityState === 'visible';
    if (visible !== told || (visible && again)) {
      told = visible;
      tell(model, { view, visible });
    }
  };
  const onPage = () => look();
  const observer = new IntersectionObserver(entries => {
    onScreen = entries.at(-1)?.isIntersecting ?? false;
    look();
  });
  observer.observe(el);
  document.addEventListener('visibilitychange', onPage);
  const timer = setInterval(() => look(true), AGAIN);
  return () => {
    observer.disconnect();
    document.removeEventListener('visibilitychange', onPage);
    clearInterval(timer);
    onScreen = false;
    look();
  };
}
