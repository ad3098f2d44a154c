// Where a zone is kept, by the names of its name servers; and the words of that host's own page for records.

export interface DnsHost {
  /** For programs. */
  id: string;
  name: string;
  /** The way to the records, in the host's words: "DNS › Records". */
  place: string;
  /** The button that begins a record. */
  add: string;
  /** The fields for the name, for the value of a TXT record and for the target of a CNAME. */
  fields: { name: string; value: string; target: string };
  /** Whether its name field takes the part before the zone, or the full name. */
  nameForm: "relative" | "full";
  /** It can answer with addresses in a CNAME's place. */
  hasProxy?: true;
}

interface KnownHost extends DnsHost {
  /** Fits the name of each of its name servers, in lower case without a dot at the end. */
  servers: RegExp;
}

const usual = (name: string, value = "Value", target = value) => ({ name, value, target });

/** By the documentation of each. Names of name servers that several companies rent are those of whoever runs them. */
const HOSTS: KnownHost[] = [
  {
    id: "cloudflare",
    name: "Cloudflare",
    servers: /\.ns\.cloudflare\.com$/,
    place: "DNS › Records",
    add: "Add record",
    fields: usual("Name", "Content", "Target"),
    nameForm: "relative",
    hasProxy: true,
  },
  {
    id: "route53",
    name: "Amazon Route 53",
    servers: /^ns-\d+\.awsdns-\d+\.(?:com|net|org|co\.uk)$/,
    place: "Hosted zones",
    add: "Create record",
    fields: usual("Record name"),
    nameForm: "relative",
  },
  {
    id: "google",
    name: "Squarespace Domains / Google Cloud DNS",
    servers: /^ns-cloud-[a-e]\d\.googledomains\.com$/,
    place: "DNS › DNS Settings › Custom records",
    add: "Add record",
    fields: usual("Host", "Data"),
    nameForm: "relative",
  },
  {
    id: "godaddy",
    name: "GoDaddy",
    servers: /\.domaincontrol\.com$/,
    place: "Domain › DNS › DNS Records",
    add: "Add New Record",
    fields: usual("Name"),
    nameForm: "relative",
  },
  {
    id: "namecheap",
    name: "Namecheap",
    servers: /\.registrar-servers\.com$/,
    place: "Domain List › Manage › Advanced DNS",
    add: "Add New Record",
    fields: usual("Host", "Value", "Target"),
    nameForm: "relative",
  },
  {
    id: "ovh",
    name: "OVHcloud",
    servers: /^(?:d?ns)\d+\.ovh\.(?:net|ca)$|\.anycast\.me$/,
    place: "Web Cloud › Domain names › DNS zone",
    add: "Add an entry",
    fields: usual("Sub-domain", "Value", "Target"),
    nameForm: "relative",
  },
  {
    id: "hetzner",
    name: "Hetzner",
    servers: /\.ns\.hetzner\.(?:com|de)$/,
    place: "DNS › Records",
    add: "Add record",
    fields: usual("Name"),
    nameForm: "relative",
  },
  {
    id: "digitalocean",
    name: "DigitalOcean",
    servers: /^ns\d\.digitalocean\.com$/,
    place: "Networking › Domains",
    add: "Create Record",
    fields: usual("Hostname", "Value", "Is an alias of"),
    nameForm: "relative",
  },
  {
    id: "gandi",
    name: "Gandi",
    servers: /\.gandi\.net$/,
    place: "Domain › DNS Records",
    add: "Add record",
    fields: usual("Name", "Text value", "Hostname"),
    nameForm: "relative",
  },
  {
    id: "ionos",
    name: "IONOS",
    servers: /\.ui-dns\.(?:com|de|org|biz)$/,
    place: "Domains & SSL › DNS",
    add: "Add record",
    fields: usual("Host name", "Value", "Points to"),
    nameForm: "relative",
  },
  {
    id: "hostinger",
    name: "Hostinger",
    servers: /\.dns-parking\.com$|\.hostinger\.com$/,
    place: "Domains › DNS / Nameservers › DNS records",
    add: "Add Record",
    fields: usual("Name", "TXT value", "Target"),
    nameForm: "relative",
  },
  {
    id: "registro-br",
    name: "Registro.br",
    servers: /\.(?:auto|sec)\.dns\.br$/,
    place: "DNS › Editar zona › Modo avançado",
    add: "Nova entrada",
    fields: usual("Nome", "Dados"),
    nameForm: "relative",
  },
  {
    id: "azure",
    name: "Azure DNS",
    servers: /\.azure-dns\.(?:com|net|org|info)$/,
    place: "DNS zones › Recordsets",
    add: "Add",
    fields: usual("Name", "Value", "Alias"),
    nameForm: "relative",
  },
  {
    id: "vercel",
    name: "Vercel",
    servers: /\.vercel-dns\.com$/,
    place: "Domains › DNS Records",
    add: "Add",
    fields: usual("Name"),
    nameForm: "relative",
  },
  {
    id: "netlify",
    name: "Netlify",
    servers: /^dns\d\.p\d+\.nsone\.net$/,
    place: "Domains › DNS records",
    add: "Add new record",
    fields: usual("Name"),
    nameForm: "relative",
  },
  {
    id: "porkbun",
    name: "Porkbun",
    servers: /\.porkbun\.com$/,
    place: "Domain Management › DNS Records",
    add: "Add",
    fields: usual("Host", "Answer"),
    nameForm: "relative",
  },
  {
    id: "linode",
    name: "Akamai (Linode)",
    servers: /^ns\d\.linode\.com$/,
    place: "Domains",
    add: "Add a TXT/CNAME Record",
    fields: usual("Hostname", "Value", "Alias to"),
    nameForm: "relative",
  },
  {
    id: "wix",
    name: "Wix",
    servers: /\.wixdns\.net$/,
    place: "Domains › Manage DNS Records",
    add: "Add Record",
    fields: usual("Host Name"),
    nameForm: "relative",
  },
];

/** Companies in Portugal and Brazil whose name servers stand under their own domains, and who give their customers cPanel. */
const CPANEL_HOSTS: [id: string, name: string, servers: RegExp][] = [
  ["ptisp", "PTisp", /\.ptisp\.(?:pt|com|net)$/],
  ["dominios-pt", "dominios.pt", /\.dominios\.pt$/],
  ["amen", "Amen", /\.amen\.pt$|\.amenworld\.com$/],
  ["hostgator", "HostGator", /\.hostgator\.com(?:\.br)?$/],
  ["bluehost", "Bluehost", /\.bluehost\.com$/],
  ["namecheap-hosting", "Namecheap hosting", /\.namecheaphosting\.com$|\.web-hosting\.com$/],
];

/** cPanel's Zone Editor takes full names, and completes relative ones. */
const CPANEL = {
  place: "cPanel › Zone Editor › Manage",
  add: "Add Record",
  fields: usual("Name", "Record"),
  nameForm: "full",
} as const;

/** Null: not one that is known here. All name servers must be of the same host: with two there is no one page. */
export function recognizeHost(nameServers: readonly string[]): DnsHost | null {
  const isAt = (servers: RegExp) => nameServers.length > 0 && nameServers.every((name) => servers.test(name));
  const known = HOSTS.find(({ servers }) => isAt(servers));
  if (known !== undefined) {
    const { servers: _, ...host } = known;
    return host;
  }
  const cpanel = CPANEL_HOSTS.find(([, , servers]) => isAt(servers));
  return cpanel === undefined ? null : { id: cpanel[0], name: cpanel[1], ...CPANEL };
}

/** A record's name as the host's field takes it. */
export function nameAtHost(name: string, zone: string | null, host: DnsHost | null): string {
  if (zone === null || host?.nameForm === "full" || !name.endsWith(`.${zone}`)) return name;
  return name.slice(0, -zone.length - 1);
}
