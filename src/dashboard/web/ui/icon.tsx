// The icons, as paths of 24 × 24.

const PATHS = {
  home: "M4 11.5 12 4l8 7.5M6 10v10h4.5v-6h3v6H18V10",
  mail: "M3.5 6h17v12h-17zM4 6.5l8 6.5 8-6.5",
  key: "M14.5 9.5a4.5 4.5 0 1 0-4.2 4.5L12 15.500h2v2h2v2h4v-3.500l-5.700-5.700M8.500 8.500h.01",
  hook: "M13 4.500h4.500v11a5.500 5.500 0 0 1-11 0V12M6.500 12 3.500 15M6.500 12l3 3",
  people:
    "M9 11.500a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7M2.500 20c0-3.600 2.900-6 6.500-6s6.500 2.400 6.500 6M16 4.800a3.500 3.500 0 0 1 0 6.400M18 14.500c2.100.9 3.500 2.900 3.500 5.500",
  list: "M8.500 6.500h12M8.500 12h12M8.500 17.500h12M4 6.500h.01M4 12h.01M4 17.500h.01",
  person: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8M4.500 20.500c0-4 3.300-6.500 7.500-6.500s7.500 2.500 7.500 6.500",
  copy: "M9 9h11v11H9zM15 9V4H4v11h5",
  check: "m5 12.500 4.500 4.500L19.500 7",
  close: "m6 6 12 12M18 6 6 18",
  menu: "M4 7h16M4 12h16M4 17h16",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  search: "M10.500 17a6.500 6.500 0 1 0 0-13 6.500 6.500 0 0 0 0 13M15.500 15.500 20 20",
  sun: "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8M12 2.500v2M12 19.500v2M2.500 12h2M19.500 12h2M5.300 5.300l1.400 1.400M17.300 17.300l1.400 1.400M5.300 18.700l1.400-1.400M17.300 6.700l1.400-1.400",
  alert: "M12 4 2.500 20h19zM12 10v4.500M12 17.300h.01",
  back: "M19 12H5M11 6l-6 6 6 6",
  out: "M14 4H5v16h9M10 12h10M16.500 8.500 20 12l-3.500 3.500",
  down: "m6 9.500 6 6 6-6",
  right: "m9.500 6 6 6-6 6",
  plus: "M12 5v14M5 12h14",
  pulse: "M3.500 12h4l2.500-7 4 14 2.500-7h4",
  sliders: "M4 7h9M17 7h3M15 5v4M4 12h3M11 12h9M9 10v4M4 17h9M17 17h3M15 15v4",
  shield:
    "M12 3.500 4.500 6v5.500c0 4.500 3 7.600 7.500 9 4.500-1.400 7.500-4.500 7.500-9V6zM9 12l2.200 2.200L15.500 10",
  send: "M20.500 3.500 10 14M20.500 3.500 14 20.500 10 14 3.500 10z",
  globe:
    "M12 20.500a8.500 8.500 0 1 0 0-17 8.500 8.500 0 0 0 0 17M3.500 12h17M12 3.500c2.500 2.500 3.500 5.500 3.500 8.500s-1 6-3.500 8.500c-2.500-2.500-3.500-5.500-3.500-8.500s1-6 3.500-8.500",
} as const;

export type IconName = keyof typeof PATHS;

/** Beside words that say the same, so that it is hidden from screen readers. */
export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" width={size} height={size} aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

export function Logo({ size = 22 }: { size?: number }) {
  return (
    <svg class="logo" viewBox="0 0 24 24" width={size} height={size} aria-hidden="true">
      <path
        fill="currentColor"
        d="M21.6 6.3 19 5.4a3.6 3.6 0 0 0-6.9.7L11.6 9 3 3.6c-.5 4.4 1 7.7 4.3 9.6L2 17.4c4.7 2.7 12.6 3 15.7-2.7.9-1.7 1.3-3.6 1.3-5.7z"
      />
      <circle class="eye" cx="16" cy="6.6" r=".9" />
    </svg>
  );
}
