// The dashboard: its pages by their addresses, and who may see them.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect } from "preact/hooks";
import { ErrorBoundary, lazy, LocationProvider, Route, Router, useLocation } from "preact-iso";
import { t } from "./i18n/index.ts";
import { SignIn } from "./pages/entrance/sign-in.tsx";
import { startLive } from "./state/live.ts";
import { watchServer } from "./state/reconnect.ts";
import { loadMe, me, workspace, workspaceId, workspacePath } from "./state/session.ts";
import { listenToKeys } from "./shell/keyboard.ts";
import { Overlays } from "./shell/overlays.tsx";
import { Shell } from "./shell/shell.tsx";
import { LinkButton } from "./ui/button.tsx";
import { EmptyState, Loading, Page } from "./ui/page.tsx";

const WorkspacePages = lazy(() => import("./pages/workspace/index.tsx").then((module) => module.WorkspacePages));

/** Pages for those who are not signed in. */
const ENTRANCE = /^\/dashboard\/(signin|setup|invite|recover)$/;

export function App() {
  useEffect(() => {
    watchServer();
    void loadMe();
  }, []);
  return (
    <LocationProvider scope="/dashboard">
      <a class="skip" href="#content">
        {t().shell.skip}
      </a>
      <Pages />
      <Overlays />
    </LocationProvider>
  );
}

function Pages() {
  const { path, route } = useLocation();
  useEffect(() => listenToKeys(route), [route]);
  // Before the pages are drawn: their calls are about it.
  workspaceId.value = /^\/dashboard\/w\/([^/]+)/.exec(path)?.[1] ?? null;
  if (ENTRANCE.test(path)) return <Entrance />;
  if (me.value === undefined) return <Loading />;
  if (me.value === null) return <Redirect to={`/dashboard/signin?next=${encodeURIComponent(path)}`} />;
  return (
    <Shell>
      <WhenItFails>
        <Router onRouteChange={arrive}>
          <Route path="/dashboard" component={Start} />
          <Route path="/dashboard/w/:workspace/:page*" component={Workspace} />
          <Route default component={NotFound} />
        </Router>
      </WhenItFails>
    </Shell>
  );
}

function Entrance() {
  return (
    <Router>
      <Route path="/dashboard/signin" component={SignIn} />
      <Route default component={NotFound} />
    </Router>
  );
}

/** A new page begins at its top, also for those who hear it. */
function arrive(): void {
  scrollTo(0, 0);
  document.getElementById("content")?.focus({ preventScroll: true });
}

function Redirect({ to }: { to: string }) {
  const { route } = useLocation();
  useLayoutEffect(() => route(to, true), [to]);
  return <Loading />;
}

/** To the first workspace; an operator without one makes it. */
function Start() {
  const first = me.value?.workspaces[0];
  if (first !== undefined) return <Redirect to={workspacePath("", first.id)} />;
  return (
    <Page title={t().shell.noWorkspace}>
      <EmptyState icon="people" title={t().shell.noWorkspace} />
    </Page>
  );
}

function Workspace() {
  const id = workspaceId.value;
  const isMember = workspace.value !== null || me.value?.user.isOperator === true;
  useEffect(() => (id === null || !isMember ? undefined : startLive(id)), [id, isMember]);
  if (!isMember)
    return (
      <Page title={t().shell.foreignTitle}>
        <EmptyState icon="people" title={t().shell.foreign}>
          <LinkButton href="/dashboard">{t().shell.goHome}</LinkButton>
        </EmptyState>
      </Page>
    );
  // Nothing of another workspace's pages stays.
  return <WorkspacePages key={id} />;
}

function NotFound() {
  return (
    <Page title={t().shell.notFoundTitle}>
      <EmptyState icon="search" title={t().shell.notFound}>
        <LinkButton href="/dashboard">{t().shell.goHome}</LinkButton>
      </EmptyState>
    </Page>
  );
}

function WhenItFails({ children }: { children: ComponentChildren }) {
  return <ErrorBoundary onError={(error) => reportError(error)}>{children}</ErrorBoundary>;
}
