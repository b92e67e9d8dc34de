import * as React from 'react';
import type { GpuDevice, GpuDevices, GpuProcess } from '../api/types.gen';
import { plain } from './words';

const GIBI = 1024 ** 3;
const SHOWN = 8;

/** As GPU memory is counted: in powers of two. */
export function gib(size: number | null): string {
  return size === null ? '?' : `${(size / GIBI).toFixed(size >= 100 * GIBI ? 0 : 1)} GiB`;
}

/** The memory of each GPU: used, free, and by whom. `ownPid`: the kernel of this notebook. */
export function Vram(props: { gpus: GpuDevices; ownPid?: number }): React.JSX.Element {
  const { gpus, ownPid = 0 } = props;
  if (gpus.devices.length === 0) {
    return <div className="jp-Pernix-noGpu">{gpus.detail}</div>;
  }
  return (
    <div className="jp-Pernix-gpus">
      {gpus.devices.map(device => (
        <Card key={`${device.index}.${device.slice ?? ''}`} device={device} ownPid={ownPid} />
      ))}
    </div>
  );
}

function share(part: number | null, whole: number | null): number {
  return part === null || !whole ? 0 : Math.min(1, Math.max(0, part / whole));
}

function Card(props: { device: GpuDevice; ownPid: number }): React.JSX.Element {
  const { device, ownPid } = props;
  const { total_bytes: total, used_bytes: used, free_bytes: free } = device;
  const name = `${device.index}${device.slice === null ? '' : `.${device.slice}`} ${plain(device.name)}`;
  const full = share(used, total);
  const known = device.processes.reduce((sum, process) => sum + (process.used_bytes ?? 0), 0);
  return (
    <section className="jp-Pernix-gpu" aria-label={name}>
      <div className="jp-Pernix-gpuHead">
        <strong>{name}</strong>
        <span className="jp-Pernix-dim">{facts(device).join(' · ')}</span>
      </div>
      {total !== null && (
        <div
          className={full > 0.9 ? 'jp-Pernix-vramBar jp-mod-full' : 'jp-Pernix-vramBar'}
          role="img"
          aria-label={`${Math.round(100 * full)}% of the memory is used`}
        >
          {device.processes.map(process => (
            <span
              key={process.pid}
              className={process.pid === ownPid ? 'jp-mod-own' : ''}
              style={{ width: `${100 * share(process.used_bytes, total)}%` }}
              title={`${who(process, ownPid)}: ${gib(process.used_bytes)}`}
            />
          ))}
          <span
            className="jp-mod-rest"
            style={{ width: `${100 * share(Math.max(0, (used ?? 0) - known), total)}%` }}
            title="The driver, and what no process is named for"
          />
        </div>
      )}
      {total !== null && (
        <div>
          {gib(used)} of {gib(total)} used · <strong>{gib(free)} free</strong>
        </div>
      )}
      {device.problem && <div className="jp-Pernix-note">Not all can be read: {device.problem}</div>}
      <Processes device={device} ownPid={ownPid} />
    </section>
  );
}

function facts(device: GpuDevice): string[] {
  const { utilization, temperature, power_watts: power, power_limit_watts: limit } = device;
  return [
    utilization === null ? '' : `${utilization}% busy`,
    temperature === null ? '' : `${temperature} °C`,
    power === null ? '' : `${Math.round(power)}${limit === null ? '' : ` of ${Math.round(limit)}`} W`
  ].filter(words => words !== '');
}

function who(process: GpuProcess, ownPid: number): string {
  const name = plain(process.name.split('/').pop() ?? '') || 'a process';
  return `${process.pid === ownPid ? 'this kernel, ' : ''}${name} (${process.pid})`;
}

function Processes(props: { device: GpuDevice; ownPid: number }): React.JSX.Element | null {
  const { processes } = props.device;
  if (processes.length === 0) {
    return null;
  }
  const more = processes.length - SHOWN;
  return (
    <ul className="jp-Pernix-gpuProcesses">
      {processes.slice(0, SHOWN).map(process => (
        <li key={process.pid} title={plain(process.name)}>
          {who(process, props.ownPid)} <span className="jp-Pernix-numbers">{gib(process.used_bytes)}</span>
        </li>
      ))}
      {more > 0 && <li className="jp-Pernix-dim">and {more} more</li>}
    </ul>
  );
}
