import { widget } from './mount';
import { tellSeen } from './seen';

export default widget('vram', tellSeen).default;
