# What index.html.in shows on the page of the server.
set(page_head [[
  <title>Runnel: live captions</title>
]])
set(page_hint "Start the microphone and speak, or drop a recording anywhere on this
        page. Words appear here while you speak.")
set(page_access [[
    <form id="token-form" class="token" aria-label="Access" hidden>
      <label for="token">This server asks for an access token</label>
      <div class="row">
        <input id="token" type="password" autocomplete="off" spellcheck="false">
        <button type="submit">Use it</button>
      </div>
    </form>

]])
set(page_measurements "")
