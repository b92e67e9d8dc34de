import { widget } from './mount';

export default widget('budget').default;
