"""The synthetic voices for training, and those for testing only.

The lists are explicit, not queried from the synthesisers, so that the recipe is the same on every
machine. For testing only: flite `rms`, festival `ked_diphone`, the
espeak-ng accent of Lancaster, and the espeak-ng variants in TEST_VARIANTS.
"""

ESPEAK_ACCENTS = (
    "en-us", "en-gb", "en-gb-scotland", "en-gb-x-rp", "en-gb-x-gbcwmd", "en-029", "en-us-nyc")
TEST_ACCENTS = ("en-gb-x-gbclan",)

# Names of files in espeak-ng's voices/!v. Few of the robots, whispers and effects are used.
ESPEAK_VARIANTS = (
    "", "adam", "Alex", "Andrea", "Andy", "Annie", "antonio", "AnxiousAndy", "aunty", "belinda",
    "benjamin", "boris", "caleb", "croak", "david", "ed", "edward", "edward2", "f1", "f2", "f3",
    "Gene", "Gene2", "grandma", "grandpa", "gustave", "Henrique", "Hugo", "iven", "iven2", "iven3",
    "iven4", "Jacky", "john", "kaukovalta", "klatt", "klatt2", "klatt3", "klatt4", "klatt5", "Lee",
    "linda", "m1", "m2", "m3", "m4", "m5", "m6", "m8", "marcelo", "Marco", "Mario", "max",
    "Michael", "michel", "miguel", "Mike", "Mr serious", "Nguyen", "norbert", "pablo", "paul",
    "pedro", "quincy", "rob", "robert", "robosoft", "robosoft3", "sandro", "shelby", "steph",
    "steph3", "Storm", "travis", "Tweaky", "victor", "whisperf", "zac", "anika")
TEST_VARIANTS = ("Alicia", "f4", "f5", "m7", "Denis", "Diogo", "steph2")

FLITE_VOICES = ("kal", "kal16", "awb", "slt")
TEST_FLITE_VOICES = ("rms",)
FESTIVAL_VOICES = ("kal_diphone", "cmu_us_slt_arctic_hts")
TEST_FESTIVAL_VOICES = ("ked_diphone",)

# Digits zero..nine spelled for espeak-ng voices of other languages, so that they read English with
# an accent. One word may have several spellings, separated by "/".
ACCENTED_SPELLINGS = {
    "de": "siero/ziro wann/uann tu sri/fri/tri fohr faif/faiw sicks sewen ejt nein",
    "fr-fr": "ziro/zirau ouane tou sri/fri/tri for/fore faïve/faïf sixe/sikse sévène eïte naïne",
    "fr-be": "ziro ouane tou sri/fri for faïve sixe sévène eïte naïne",
    "es": "siro/sirou uan tu tri/sri for/foar faif/faib sics/siks seven eit nain",
    "es-419": "siro/sirou uan tu tri/sri for faif/faib sics/siks seven eit nain",
    "it": "ziro/siro uan tu tri/sri for faiv sics/siks seven eit nain",
    "nl": "ziro/zirow wan toe srie/trie foor faif/faiv siks seven eejt nain/najn",
    "pl": "ziro łan tu sri/tri/fri for fajw/fajf siks sewen ejt najn",
    "el": "ζίρο/ζίροου ουάν του θρι φορ φάιβ σιξ σέβεν έιτ νάιν",
    "ru": "зиро/зироу уан ту сри/зри фор файв сикс сэвен эйт найн",
    "hi": "ज़ीरो वन टू थ्री फोर फाइव सिक्स सेवन एट नाइन",
    "tr": "ziro/zirou van/uan tu tri/sri for fayv/fayf siks sevın eyt nayn",
    "hu": "ziró van/uan tú szrí/trí fór fájv sziksz szeven éjt nájn",
    "cs": "zírou/zíro uan tú srí/frí fór fajf/fajv siks sevn ejt najn",
}
ACCENTED_VARIANTS = ("", "f2", "f3", "m2", "m3", "m5", "Andy", "Annie", "max", "Michael", "steph")
