// The person's own page.

export const account = {
  title: "Your account",
};
