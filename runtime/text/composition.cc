#include "runtime/text/composition.h"

#include <algorithm>
#include <iterator>

#include "runtime/text/utf8.h"

namespace runnel {
namespace {

struct Mark {
  char32_t code_point;
  std::u32string_view before;  // what it composes with
};

// The canonical compositions of Unicode 14, without those of Korean, by code point.
constexpr Mark kComposingMarks[] = {
    {0x0300,
     U"AEINOUWYaeinouwy\u00A8ÂÊÔÜâêôüĂăĒēŌōƠơƯưΑΕΗΙΟΥΩαεηιουωϊϋЕИеиἀἁἈἉἐἑἘἙἠἡἨἩἰἱἸἹὀὁὈὉὐὑὙὠὡὨὩ"
     U"\u1FBF\u1FFE"},
    {0x0301,
     U"ACEGIKLMNOPRSUWYZacegiklmnoprsuwyz\u00A8ÂÅÆÇÊÏÔÕØÜâåæçêïôõøüĂăĒēŌōŨũƠơƯưΑΕΗΙΟΥΩαεηιουωϊϋϒГКг"
     U"кἀἁἈἉἐἑἘἙἠἡἨἩἰἱἸἹὀὁὈὉὐὑὙὠὡὨὩ\u1FBF\u1FFE"},
    {0x0302, U"ACEGHIJOSUWYZaceghijosuwyzẠạẸẹỌọ"},
    {0x0303, U"AEINOUVYaeinouvyÂÊÔâêôĂăƠơƯư"},
    {0x0304, U"AEGIOUYaegiouyÄÆÕÖÜäæõöüǪǫȦȧȮȯΑΙΥαιυИУиуḶḷṚṛ"},
    {0x0306, U"AEGIOUaegiouȨȩΑΙΥαιυАЕЖИУаежиуẠạ"},
    {0x0307, U"ABCDEFGHIMNOPRSTWXYZabcdefghmnoprstwxyzŚśŠšſṢṣ"},
    {0x0308, U"AEHIOUWXYaehiotuwxyÕõŪūΙΥιυϒІАЕЖЗИОУЧЫЭаежзиоучыэіӘәӨө"},
    {0x0309, U"AEIOUYaeiouyÂÊÔâêôĂăƠơƯư"},
    {0x030A, U"AUauwy"},
    {0x030B, U"OUouУу"},
    {0x030C, U"ACDEGHIKLNORSTUZacdeghijklnorstuzÜüƷʒ"},
    {0x030F, U"AEIORUaeioruѴѵ"},
    {0x0311, U"AEIORUaeioru"},
    {0x0313, U"ΑΕΗΙΟΩαεηιορυω"},
    {0x0314, U"ΑΕΗΙΟΡΥΩαεηιορυω"},
    {0x031B, U"OUou"},
    {0x0323, U"ABDEHIKLMNORSTUVWYZabdehiklmnorstuvwyzƠơƯư"},
    {0x0324, U"Uu"},
    {0x0325, U"Aa"},
    {0x0326, U"STst"},
    {0x0327, U"CDEGHKLNRSTcdeghklnrst"},
    {0x0328, U"AEIOUaeiou"},
    {0x032D, U"DELNTUdelntu"},
    {0x032E, U"Hh"},
    {0x0330, U"EIUeiu"},
    {0x0331, U"BDKLNRTZbdhklnrtz"},
    {0x0338,
     U"\u003C\u003D\u003E\u2190\u2192\u2194\u21D0\u21D2\u21D4\u2203\u2208\u220B\u2223\u2225\u223C"
     U"\u2243\u2245\u2248\u224D\u2261\u2264\u2265\u2272\u2273\u2276\u2277\u227A\u227B\u227C\u227D"
     U"\u2282\u2283\u2286\u2287\u2291\u2292\u22A2\u22A8\u22A9\u22AB\u22B2\u22B3\u22B4\u22B5"},
    {0x0342, U"\u00A8αηιυωϊϋἀἁἈἉἠἡἨἩἰἱἸἹὐὑὙὠὡὨὩ\u1FBF\u1FFE"},
    {0x0345, U"ΑΗΩάήαηωώἀἁἂἃἄἅἆἇἈἉἊἋἌἍἎἏἠἡἢἣἤἥἦἧἨἩἪἫἬἭἮἯὠὡὢὣὤὥὦὧὨὩὪὫὬὭὮὯὰὴὼᾶῆῶ"},
    {0x0653, U"\u0627"},
    {0x0654, U"\u0627\u0648\u064A\u06C1\u06D2\u06D5"},
    {0x0655, U"\u0627"},
    {0x093C, U"\u0928\u0930\u0933"},
    {0x09BE, U"\u09C7"},
    {0x09D7, U"\u09C7"},
    {0x0B3E, U"\u0B47"},
    {0x0B56, U"\u0B47"},
    {0x0B57, U"\u0B47"},
    {0x0BBE, U"\u0BC6\u0BC7"},
    {0x0BD7, U"\u0B92\u0BC6"},
    {0x0C56, U"\u0C46"},
    {0x0CC2, U"\u0CC6"},
    {0x0CD5, U"\u0CBF\u0CC6\u0CCA"},
    {0x0CD6, U"\u0CC6"},
    {0x0D3E, U"\u0D46\u0D47"},
    {0x0D57, U"\u0D46"},
    {0x0DCA, U"\u0DD9\u0DDC"},
    {0x0DCF, U"\u0DD9"},
    {0x0DDF, U"\u0DD9"},
    {0x102E, U"\u1025"},
    {0x1B35, U"\u1B05\u1B07\u1B09\u1B0B\u1B0D\u1B11\u1B3A\u1B3C\u1B3E\u1B3F\u1B42"},
    {0x3099,
     U"うかきくけこさしすせそたちつてとはひふへほゝウカキクケコサシスセソタチツテトハヒフヘホワヰヱ"
     U"ヲヽ"},
    {0x309A, U"はひふへほハヒフヘホ"},
    {0x110BA, U"\U00011099\U0001109B\U000110A5"},
    {0x11127, U"\U00011131\U00011132"},
    {0x1133E, U"\U00011347"},
    {0x11357, U"\U00011347"},
    {0x114B0, U"\U000114B9"},
    {0x114BA, U"\U000114B9"},
    {0x114BD, U"\U000114B9"},
    {0x115AF, U"\U000115B8\U000115B9"},
    {0x11930, U"\U00011935"},
};

bool IsIn(char32_t code_point, char32_t first, char32_t last) {
  return code_point >= first && code_point <= last;
}

// Korean: a consonant and a vowel are one syllable, also with a consonant at the end.
bool IsSyllable(char32_t before, char32_t character) {
  if (IsIn(before, 0x1100, 0x1112)) return IsIn(character, 0x1161, 0x1175);
  const bool is_open = IsIn(before, 0xAC00, 0xD7A3) && (before - 0xAC00) % 28 == 0;
  return is_open && IsIn(character, 0x11A8, 0x11C2);
}

bool Compose(char32_t before, char32_t character) {
  const Mark* const mark =
      std::lower_bound(std::begin(kComposingMarks), std::end(kComposingMarks), character,
                       [](const Mark& one, char32_t other) { return one.code_point < other; });
  if (mark == std::end(kComposingMarks) || mark->code_point != character) {
    return IsSyllable(before, character);
  }
  return mark->before.find(before) != std::u32string_view::npos;
}

}  // namespace

std::vector<std::string_view> DecomposedMarks(std::string_view text) {
  std::vector<std::string_view> marks;
  char32_t before = 0;
  for (const std::string_view character : SplitCharacters(text)) {
    const char32_t code_point = CodePoint(character);
    if (Compose(before, code_point)) marks.push_back(character);
    before = code_point;
  }
  return marks;
}

}  // namespace runnel
