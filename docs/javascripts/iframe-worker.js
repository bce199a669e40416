// A Worker for pages that are opened as files, where browsers start none: a hidden frame runs its script. The search
// needs it. The plugin `offline` of mkdocs-material would load such a script from another host.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.inside.document.open();
      this.inside.document.write("<!doctype html><title>search</title><body></body>");
      this.inside.document.close();
      this.inside.postMessage = (data) => setTimeout(() => this.dispatchEvent(new MessageEvent("message", { data })));
      const script = this.inside.document.createElement("script");
      script.src = address;
      this.loaded = new Promise((resolve) => script.addEventListener("load", resolve));
      this.inside.document.body.append(script);
    }

    postMessage(data) {
      this.loaded.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
