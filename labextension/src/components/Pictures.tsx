import * as React from 'react';
import type { Picture } from '../api/types.gen';
import { PICTURE, pictureWords } from './words';

/** Pixels only: nothing in them can be a document of its own. */
const SHOWN = /^image\/(png|jpeg|gif|webp)$/;
const BASE64 = /^[A-Za-z0-9+/\s]+={0,2}\s*$/;

/** Small pictures, each larger on demand. */
export function Pictures(props: { pictures: readonly Picture[] }): React.JSX.Element {
  return (
    <div className="jp-Pernix-pictures">
      {props.pictures.map((picture, index) => (
        <Thumbnail key={index} picture={picture} />
      ))}
    </div>
  );
}

function Thumbnail(props: { picture: Picture }): React.JSX.Element {
  const { mime, data } = props.picture;
  const [large, setLarge] = React.useState(false);
  if (!SHOWN.test(mime) || !BASE64.test(data)) {
    return <span className="jp-Pernix-note">{PICTURE.unknown}</span>;
  }
  return (
    <button
      type="button"
      className={large ? 'jp-Pernix-thumbnail jp-mod-large' : 'jp-Pernix-thumbnail'}
      aria-pressed={large}
      title={large ? PICTURE.smaller : PICTURE.larger}
      onClick={() => setLarge(!large)}
    >
      <img src={`data:${mime};base64,${data}`} alt={pictureWords(null)} />
    </button>
  );
}
