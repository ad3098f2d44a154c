// The dashboard: its pages by their addresses, and who may see them.

import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { ErrorBoundary, lazy, LocationProvider, Route, Router, useLocation } from "preact-iso";
import { t } from "./i18n/index.ts";
import { LinkPage } from "./pages/entrance/link.tsx";
import { Redirect } from "./pages/entrance/redirect.tsx";
import { SignIn } from "./pages/entrance/sign-in.tsx";
import { CreateWorkspace, Start } from "./pages/entrance/start.tsx";
import { startLive } from "./state/live.ts";
import { watchServer } from "./state/reconnect.ts";
import { loadMe, me, workspace, workspaceId } from "./state/session.ts";
import { listenToKeys } from "./shell/keyboard.ts";
import { Overlays } from "./shell/overlays.tsx";
import { NotFound } from "./shell/not-found.tsx";
import { Shell } from "./shell/shell.tsx";
import { LinkButton } from "./ui/button.tsx";
import { EmptyState, Loading, Page } from "./ui/page.tsx";

const Account = lazy(() => import("./pages/account/index.tsx").then((module) => module.Account));
const WorkspacePages = lazy(() => import("./pages/workspace/index.tsx").then((module) => module.WorkspacePages));

const ACCOUNT = "/dashboard/account";

/** Pages for those who are not signed in. */
const ENTRANCE = /^\/dashboard\/(signin|setup|invite|recover)$/;

export function App() {
  useEffect(() => {
    // Beside the question who it is, not after it.
    if (location.pathname.startsWith("/dashboard/w/")) void WorkspacePages.preload();
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
  // Before the pages are drawn: their calls are about it. Elsewhere the last one stays at the side.
  const named = /^\/dashboard\/w\/([^/]+)/.exec(path)?.[1];
  workspaceId.value = named ?? workspaceId.value ?? me.value?.workspaces[0]?.id ?? null;
  if (ENTRANCE.test(path)) return <Entrance />;
  if (me.value === undefined) return <Loading />;
  if (me.value === null) return <Redirect to={`/dashboard/signin?next=${encodeURIComponent(path)}`} />;
  // Until an operator who comes from elsewhere has a second factor, the API gives nothing else.
  if (me.value.session.needsSecondFactor && path !== ACCOUNT) return <Redirect to={ACCOUNT} />;
  return (
    <Shell>
      <WhenItFails>
        <Router onRouteChange={arrive}>
          <Route path="/dashboard" component={Start} />
          <Route path="/dashboard/new" component={CreateWorkspace} />
          <Route path="/dashboard/account" component={Account} />
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
      <Route default component={LinkPage} />
    </Router>
  );
}

/** A new page begins at its top, also for those who hear it. */
function arrive(): void {
  scrollTo(0, 0);
  document.getElementById("content")?.focus({ preventScroll: true });
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

function WhenItFails({ children }: { children: ComponentChildren }) {
  return <ErrorBoundary onError={(error) => reportError(error)}>{children}</ErrorBoundary>;
}
