import * as React from 'react';
import { TroubleBanner } from '../../components/Banner';
import { PermissionsPage } from '../../components/PermissionsPage';
import { PermissionsModel } from '../../model/permissions';
import type { SessionModel } from '../../model/session';
import { useModel } from '../useModel';
import type { WorkspaceModel } from './model';

/** What a session may do; its rules are read when it is shown, and again when an answer may have added some. */
export function PermissionsOf(props: { model: WorkspaceModel; session: SessionModel }): React.JSX.Element {
  const { model, session } = props;
  const permissions = usePermissions(model, session);
  useModel(session);
  useModel(permissions);
  return (
    <div className="jp-Pernix-page">
      <TroubleBanner trouble={session.trouble} onDismiss={() => session.dismiss()} />
      {permissions !== null && (
        <>
          <TroubleBanner trouble={permissions.trouble} onDismiss={() => permissions.dismiss()} />
          <PermissionsPage
            view={session.view}
            permissions={permissions.permissions}
            sandbox={permissions.sandbox}
            onMode={mode => void session.configure({ mode })}
            onSandbox={given => void session.configure(given)}
            onAdd={(rule, place) => permissions.add(rule, place)}
            onRemove={(rule, place) => void permissions.remove(rule, place)}
            onConsent={(digest, given) =>
              void (given ? permissions.giveConsent(digest) : permissions.takeConsent(digest))
            }
          />
        </>
      )}
    </div>
  );
}

function usePermissions(model: WorkspaceModel, session: SessionModel): PermissionsModel | null {
  const [permissions, setPermissions] = React.useState<PermissionsModel | null>(null);
  const open = model.sessions.questionsIn(session.sessionId);
  React.useEffect(() => {
    const made = new PermissionsModel(model.sessions.client, session.sessionId);
    setPermissions(made);
    return () => made.dispose();
  }, [model, session]);
  React.useEffect(() => {
    void permissions?.refresh();
  }, [open]); // eslint-disable-line react-hooks/exhaustive-deps
  return permissions;
}
