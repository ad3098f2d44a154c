// Name, language and theme.

import {
  call,
  Card,
  Field,
  Form,
  LANGUAGE_NAMES,
  LANGUAGES,
  me,
  Select,
  setLanguage,
  setTheme,
  showToast,
  t,
  takeMe,
  theme,
  useForm,
} from "../../kit.ts";

const BROWSERS = "browser";
const THEMES = ["system", "light", "dark"] as const;

export function Profile() {
  const words = t().account;
  const user = me.value?.user;
  const form = useForm(async ({ name = "", language = BROWSERS }) => {
    const chosen = LANGUAGES.find((each) => each === language) ?? null;
    const { data } = await call("PATCH /api/v1/auth/me", { body: { name, language: chosen } });
    await setLanguage(chosen);
    await takeMe(data);
    showToast(t().common.saved);
  });
  const languages = [
    { value: BROWSERS, label: words.browserLanguage },
    ...LANGUAGES.map((each) => ({ value: each, label: LANGUAGE_NAMES[each] })),
  ];
  return (
    <Card title={words.profileTitle}>
      <Form state={form} action={t().common.save}>
        <div class="fields">
          <Field name="name" label={words.name} defaultValue={user?.name ?? ""} autoComplete="name" required />
          <Select name="language" label={t().shell.language} options={languages} value={user?.language ?? BROWSERS} />
          <Select
            name="theme"
            label={t().shell.theme}
            options={THEMES.map((each) => ({ value: each, label: t().shell.themes[each] }))}
            value={theme.value}
            onChange={(value) => setTheme(THEMES.find((each) => each === value) ?? "system")}
          />
        </div>
      </Form>
    </Card>
  );
}
