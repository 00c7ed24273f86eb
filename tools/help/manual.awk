# Makes a manual page from what a tool prints for --help:
#   decode_wav --help | awk -v tool=decode_wav -v version=0.2.0 -f manual.awk >decode_wav.1
# The help is one sentence, calls, paragraphs, lists (indented), "Examples:", "Flags:", and titles of more flags.

function escaped(text) {
  gsub(/\\/, "\\\\e", text)
  gsub(/-/, "\\\\-", text)
  gsub(/^[.']/, "\\\\\\&&", text)
  return text
}

# Lines stay as they are within lists; elsewhere they are filled.
function fill(wanted) {
  if (wanted != filled) print wanted ? ".fi" : ".nf"
  filled = wanted
}

function section(title) {
  fill(1)
  print ".SH " title
  current = title
}

BEGIN { filled = 1 }

NR == 1 { sub("^" tool " ", "") }

!current && NF {
  purpose = purpose (purpose ? " " : "") $0
  next
}

!current {
  sub(/[.]$/, "", purpose)
  # No hyphenation, as it would put hyphens into flags; no spaces to align the right margin.
  print ".TH " toupper(tool) " 1 \"\" \"Runnel " version "\" \"User Commands\"\n.nh\n.ad l"
  section("NAME")
  print tool " \\- " escaped(purpose)
  section("SYNOPSIS")
  next
}

/^Examples:$/ { section("EXAMPLES"); next }

/^Flags:$/ { section("OPTIONS"); next }

!NF && current == "SYNOPSIS" { section("DESCRIPTION"); next }

current == "OPTIONS" && !NF { next }

current == "OPTIONS" && /^[^ ]/ {
  sub(/:$/, "")
  print ".SS " escaped($0)
  next
}

!NF { fill(1); print ".PP"; next }

current == "OPTIONS" && /^  --/ {
  split(substr($0, 3), parts, /  /)  # "--search=TEXT", "(default: greedy)"
  print ".TP\n\\fB" escaped(parts[1]) "\\fR" (parts[2] ? " " escaped(parts[2]) : "")
  next
}

current == "OPTIONS" { sub(/^ +/, ""); print escaped($0); next }

{ fill(!/^ /); print escaped($0) }

END { if (!current) exit 1 }
