/** Name of the platform that the sandbox plays. */
export const PLATFORM_NAME = "Weather Data Platform";

/** Data sets to show in the portal. */
export const DATASETS: { name: string; description: string; path: string }[] = [
  {
    name: "Stations",
    description: "Six weather stations: place, position and elevation.",
    path: "/v1/stations",
  },
  {
    name: "Hourly observations",
    description: "Temperature, rain, wind and pressure of 2025, hour by hour, in pages.",
    path: "/v1/stations/gull-harbor/observations",
  },
  {
    name: "Observations as CSV",
    description: "The same rows as one text file for a table program or a data frame.",
    path: "/v1/stations/gull-harbor/observations.csv",
  },
];
