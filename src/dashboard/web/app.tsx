// The dashboard: its pages by their addresses, and who may see them.

import { useEffect } from "preact/hooks";
import { LocationProvider, Route, Router, useLocation } from "preact-iso";
import { t } from "./i18n/index.ts";
import { LinkPage } from "./pages/entrance/link.tsx";
import { Redirect } from "./pages/entrance/redirect.tsx";
import { SignIn } from "./pages/entrance/sign-in.tsx";
import { CreateWorkspace, Start } from "./pages/entrance/start.tsx";
import { findSection } from "./sections.ts";
import { startLive } from "./state/live.ts";
import { watchServer } from "./state/reconnect.ts";
import { loadMe, me, workspace, workspaceId } from "./state/session.ts";
import { listenToKeys } from "./shell/keyboard.ts";
import { createLaterPage, WhenItFails } from "./shell/later.tsx";
import { Overlays } from "./shell/overlays.tsx";
import { NotFound } from "./shell/not-found.tsx";
import { arrive, watchScrolling } from "./shell/scroll.ts";
import { Shell } from "./shell/shell.tsx";
import { LinkButton } from "./ui/button.tsx";
import { EmptyState, Loading, Page } from "./ui/page.tsx";

const account = createLaterPage(async () => (await import("./pages/account/index.tsx")).Account, "account");

const sharedDns = createLaterPage(async () => (await import("./pages/dns/index.tsx")).SharedDns, "domains");

const ACCOUNT = "/dashboard/account";

/** Pages for those who are not signed in. */
const ENTRANCE = /^\/dashboard\/(signin|setup|invite|recover|link)$/;

export function App() {
  useEffect(() => {
    // Beside the question who it is, not after it.
    if (location.pathname.startsWith("/dashboard/w/")) findSection(location.pathname).load();
    watchServer();
    watchScrolling();
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
  // Whether the last address is a new entry of the history; its types leave this member out.
  const { path, url, route, wasPush }: ReturnType<typeof useLocation> & { wasPush?: boolean } = useLocation();
  useEffect(() => listenToKeys(route), [route]);
  // Before the pages are drawn: their calls are about it. Elsewhere the last one stays at the side.
  const named = /^\/dashboard\/w\/([^/]+)/.exec(path)?.[1];
  workspaceId.value = named ?? workspaceId.value ?? me.value?.workspaces[0]?.id ?? null;
  if (path === "/dashboard/dns") return <sharedDns.Page />;
  if (ENTRANCE.test(path)) return <Entrance />;
  if (me.value === undefined) return <Loading />;
  if (me.value === null) return <Redirect to={`/dashboard/signin?next=${encodeURIComponent(url)}`} />;
  // Until an operator who comes from elsewhere has a second factor, the API gives nothing else.
  if (me.value.session.needsSecondFactor && path !== ACCOUNT) return <Redirect to={ACCOUNT} />;
  return (
    <Shell>
      <WhenItFails>
        <Router onRouteChange={() => arrive(wasPush === true)}>
          <Route path="/dashboard" component={Start} />
          <Route path="/dashboard/new" component={CreateWorkspace} />
          <Route path="/dashboard/account" component={account.Page} />
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

function Workspace() {
  const id = workspaceId.value;
  const section = findSection(useLocation().path);
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
  return <section.Page key={id} />;
}
