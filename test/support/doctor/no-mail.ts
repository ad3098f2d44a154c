// What a doctor needs to send a test, for one that is to send none.

const refuse = () => {
  throw new Error("no test is to be sent");
};

export const NO_MAIL = { queueMail: refuse, attempts: { watch: refuse } };

export const NO_STORES = {
  emails: { findStateByUid: refuse },
  suppressions: { reasonFor: refuse },
  inbox: { findFrom: refuse },
};

export const noCommit = () => Promise.reject(new Error("nothing is to be written"));
