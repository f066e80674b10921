// SPDX-License-Identifier: GPL-2.0-or-later
// What pages have from scripts that are no modules: of uPlot what they use.
type Data = (number | null)[][];
declare class uPlot {
  constructor(options: object, data: Data, holder: HTMLElement);
  static sync(key: string): { key: string };
  static tzDate(date: Date, zone: string): Date;
  ctx: CanvasRenderingContext2D;
  over: HTMLElement;
  bbox: { left: number; top: number; width: number; height: number };
  cursor: { left: number; top: number };
  data: Data;
  setData(data: Data): void;
  setCursor(place: { left: number; top: number }): void;
  valToPos(value: number, scale: "x" | "y", pixels?: boolean): number;
  posToVal(place: number, scale: "x" | "y"): number;
  destroy(): void;
}
