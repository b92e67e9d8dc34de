import { widget } from './mount';

export default widget('tool_calls').default;
