// All that pages take from outside their own folder: it is in main.js, once.

export type { ComponentChildren } from "preact";
export { Fragment, jsx, jsxs } from "preact/jsx-runtime";
export { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
export { batch, computed, effect, signal, useComputed, useSignal, useSignalEffect } from "@preact/signals";
export { useLocation, useRoute } from "preact-iso";

export { ApiError, call, type CallOptions } from "./api/client.ts";
export { serverNow } from "./api/server-clock.ts";
export { download } from "./api/download.ts";
export type { Call, Data, Meta } from "./api/calls.ts";
export { formatBytes, formatNumber, LANGUAGE_NAMES, LANGUAGES, tellPage as t } from "./i18n/index.ts";
export { liveStatuses, followDomain, followMessages } from "./state/live.ts";
export { language, setLanguage, setTheme, theme } from "./state/preferences.ts";
export { invalidate, type Resource, useCall } from "./state/resource.ts";
export { forgetSession, loadMe as refreshMe, me, takeMe, workspace, workspacePath } from "./state/session.ts";
export { keepReading } from "./state/stream.ts";
export { showToast } from "./state/toasts.ts";

export { Frame } from "./pages/entrance/frame.tsx";
export { NotFound } from "./shell/not-found.tsx";
export { Button, CopyButton, LinkButton } from "./ui/button.tsx";
export { Checkbox, Field, Select } from "./ui/field.tsx";
export { ErrorText } from "./ui/error-text.tsx";
export { Form, type FormState, useFieldErrors, useForm } from "./ui/form.tsx";
export { ConfirmDialog, Dialog, SecretDialog } from "./ui/dialog.tsx";
export { Badge, type Tone } from "./ui/badge.tsx";
export { CodeBlock } from "./ui/code-block.tsx";
export { Card, EmptyState, Loading, Notice, Page, ErrorNotice } from "./ui/page.tsx";
export { Icon, type IconName } from "./ui/icon.tsx";
export { Pagination } from "./ui/pagination.tsx";
export { type Column, Table } from "./ui/table.tsx";
export { formatDate, formatTime } from "./ui/format-time.ts";
export { Time } from "./ui/time.tsx";
export { setTitle } from "./ui/title.ts";
export { createPasskey, hasPasskeys } from "./state/passkeys.ts";
