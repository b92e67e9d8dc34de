import { widget } from './mount';

export default widget('trace').default;
