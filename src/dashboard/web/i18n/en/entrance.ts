// Sign-in, setup, invitations and recovery.

export const entrance = {
  signInTitle: "Sign in",
  signIn: "Sign in",
  email: "Email address",
  password: "Password",
  code: "Code",
  codeHint: "Of your authenticator app, or a recovery code.",
};
