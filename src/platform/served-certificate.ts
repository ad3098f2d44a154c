// The certificate that ports show, and what happens at its change.

/** PEM. */
export interface PemPair {
  /** The certificate, with its chain where there is one. */
  cert: string;
  key: string;
}

export interface CertificateSource {
  /** As it is now. */
  readonly pair: PemPair;
  /** Whether everybody's browser trusts it. */
  readonly isPublic: boolean;
  /** Calls `use` with each new pair; the returned function ends that. */
  follow(use: (pair: PemPair) => void): () => void;
}

export class ServedCertificate implements CertificateSource {
  #pair: PemPair;
  #isPublic: boolean;
  readonly #users = new Set<(pair: PemPair) => void>();

  constructor(pair: PemPair, isPublic: boolean) {
    this.#pair = pair;
    this.#isPublic = isPublic;
  }

  get pair(): PemPair {
    return this.#pair;
  }

  get isPublic(): boolean {
    return this.#isPublic;
  }

  follow(use: (pair: PemPair) => void): () => void {
    this.#users.add(use);
    return () => void this.#users.delete(use);
  }

  replace(pair: PemPair, isPublic: boolean): void {
    this.#pair = pair;
    this.#isPublic = isPublic;
    for (const use of this.#users) use(pair);
  }
}
