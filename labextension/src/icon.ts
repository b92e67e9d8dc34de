import { LabIcon } from '@jupyterlab/ui-components';

const SVG = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <path class="jp-icon3" fill="#616161" d="M12 2 3.5 7v10l8.5 5 8.5-5V7zm0 2.3L18.4 8 12 11.8 5.600 8zM5.500 9.800l5.500 3.200v6.300l-5.500-3.200zm7.500 9.500V13l5.500-3.200v6.300z"/>
</svg>`;

export const pernixIcon = new LabIcon({ name: 'jupyter-pernix:icon', svgstr: SVG });
