# What tools/server/page/index.html.in shows on the page without a server.
set(page_head [[
  <!-- Nothing but the files beside this page is loaded, and no audio leaves it. -->
  <meta http-equiv="Content-Security-Policy" content="default-src 'self'; script-src 'self' 'wasm-unsafe-eval';
    img-src 'self' data:; media-src blob:; object-src 'none'; base-uri 'none'; form-action 'none'">
  <title>Runnel in the browser: spoken digits</title>
]])
set(page_hint "Start the microphone and say English digits, or drop a recording of
        digits anywhere on this page. They are recognised in this browser: no audio leaves it.")
set(page_access "")
set(page_measurements [[
        <div title="Audio in the time that the engine needs for it, on one core">
          <dt>Speed</dt><dd id="speed">–</dd></div>
]])
