#include "tools/server/recordings/multipart_form.h"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace runnel::server {
namespace {

constexpr char kType[] = "multipart/form-data; boundary=xyz";

std::string Part(const std::string& name, const std::string& value) {
  return "--xyz\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n";
}

// The reason why the body is refused.
std::string Refusal(const std::string& body, const std::string& type = kType) {
  try {
    ReadMultipartForm(type, body);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(ReadMultipartForm, PartsInTheirOrder) {
  const std::string body =
      Part("model", "m") +
      "--xyz \r\ncontent-type: audio/wav\r\nCONTENT-DISPOSITION: Form-Data; filename=\"a;b.wav\"; "
      "name=file\r\n\r\n\r\n--xy\r\r\n\r\n--xyz\r\nContent-Disposition:form-data;name="
      "\"a\\\"b\"\r\n"
      "\r\n\r\n--xyz--\r\nanything";
  const std::vector<FormPart> parts = ReadMultipartForm(kType, body);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0].name, "model");
  EXPECT_EQ(parts[0].value, "m");
  EXPECT_EQ(parts[1].name, "file");
  EXPECT_EQ(parts[1].value, "\r\n--xy\r\r\n");
  EXPECT_EQ(parts[2].name, "a\"b");
  EXPECT_EQ(parts[2].value, "");
  EXPECT_TRUE(ReadMultipartForm(kType, "--xyz--").empty());
  EXPECT_EQ(ReadMultipartForm(kType, "a preamble --xyz\r\n" + body).size(), 3U);
}

// The names of files come as clients write them; only the name of the field matters.
TEST(ReadMultipartForm, FileNamesOfAllClients) {
  for (const std::string& file : std::vector<std::string>{
           R"(filename="say "hi".wav")", R"(filename="say \"hi\".wav")", R"(filename="a\")",
           R"(filename="a\\")", R"(filename="a\"")", R"(filename="C:\Users\me\a.wav")",
           R"(filename="C:\Users\me\")", R"(filename="a;b=c.wav")", R"(filename="a\"x;y=z.wav")",
           R"(filename="" ; x="y")", "filename=my file.wav", "filename=my;file.wav",
           "filename=a=b.wav", "filename=", "filename", R"(filename=a"b.wav)", "x; y ;"}) {
    for (const std::string& line :
         {R"(form-data; name="fi le"; )" + file, "form-data; name=fi le; " + file}) {
      const std::string body = "--xyz\r\nContent-Disposition: " + line + "\r\n\r\nvalue\r\n--xyz--";
      EXPECT_EQ(Refusal(body), "") << line;
      const std::vector<FormPart> parts = ReadMultipartForm(kType, body);
      ASSERT_EQ(parts.size(), 1U) << line;
      EXPECT_EQ(parts[0].name, "fi le") << line;
    }
  }
}

TEST(ReadMultipartForm, NamesAfterThoseOfFiles) {
  for (const std::string& file :
       std::vector<std::string>{R"(filename="a\")", R"(filename="say "hi"")", "filename=a b"}) {
    const std::vector<FormPart> parts =
        ReadMultipartForm(kType, "--xyz\r\nContent-Disposition: form-data; " + file +
                                     "; name=\"file\"\r\n\r\nvalue\r\n--xyz--");
    ASSERT_EQ(parts.size(), 1U) << file;
    EXPECT_EQ(parts[0].name, "file") << file;
  }
}

TEST(ReadMultipartForm, Boundaries) {
  for (const std::string& type : std::vector<std::string>{
           "multipart/form-data;boundary=xyz", "Multipart/Form-Data; Boundary=\"xyz\"",
           "multipart/form-data; charset=utf-8; boundary=xyz ; x=1"}) {
    EXPECT_EQ(ReadMultipartForm(type, Part("a", "b") + "--xyz--").size(), 1U) << type;
  }
  for (const std::string& type : std::vector<std::string>{
           "", "audio/wav", "multipart/mixed; boundary=xyz", "multipart/form-data",
           "multipart/form-data; boundary=", "multipart/form-data; boundary",
           "multipart/form-data xyz", "multipart/form-data; boundary=\"xyz"}) {
    EXPECT_NE(Refusal(Part("a", "b") + "--xyz--", type), "") << type;
  }
  EXPECT_NE(Refusal("", "multipart/form-data; boundary=" + std::string(71, 'x')), "");
  EXPECT_NE(Refusal("--x\ry--", "multipart/form-data; boundary=\"x\ry\""), "");
}

TEST(ReadMultipartForm, RefusesWhatIsNotAWholeForm) {
  const std::string part = Part("a", "b");
  for (const std::string& body :
       {std::string(), std::string("--xyz"), std::string("--xyz\r\n"), std::string("xyz--"), part,
        part + "--xyz", part + "--xyzz\r\n", part.substr(1),
        std::string("--xyz\r\n\r\nvalue\r\n--xyz--"),
        std::string("--xyz\r\nContent-Type: a/b\r\n\r\nvalue\r\n--xyz--"),
        std::string("--xyz\r\nContent-Disposition: form-data\r\n\r\nvalue\r\n--xyz--"),
        std::string("--xyz\r\nContent-Disposition: attachment; name=a\r\n\r\nvalue\r\n--xyz--"),
        std::string("--xyz\r\nno colon\r\n\r\nvalue\r\n--xyz--"),
        std::string("--xyz\r\nContent-Disposition: form-data; name=a\r\n"
                    "Content-Transfer-Encoding: base64\r\n\r\nvalue\r\n--xyz--"),
        "--xyz\r\nContent-Disposition: form-data; name=\"" + std::string(kMaxPartHeader, 'a') +
            "\"\r\n\r\nvalue\r\n--xyz--"}) {
    const std::string refusal = Refusal(body);
    EXPECT_NE(refusal, "") << body.substr(0, 200);
    EXPECT_EQ(refusal.find('\n'), std::string::npos);
  }
}

TEST(ReadMultipartForm, BoundsTheNumberOfParts) {
  std::string body;
  for (size_t i = 0; i < kMaxFormParts; ++i) body += Part("a", "");
  EXPECT_EQ(ReadMultipartForm(kType, body + "--xyz--").size(), kMaxFormParts);
  EXPECT_NE(Refusal(body + Part("a", "") + "--xyz--"), "");
}

// Bodies that make a search for the boundary begin anew at every byte. A search in quadratic time
// would take minutes.
TEST(ReadMultipartForm, ValuesLikeTheBoundary) {
  const std::string boundary(70, '-');
  const std::string type = "multipart/form-data; boundary=\"" + boundary + "\"";
  const std::string near = "\r\n--" + boundary.substr(1);
  for (const std::string& unit : {std::string("-"), std::string("\r"), near}) {
    std::string value;
    while (value.size() < (size_t{16} << 20)) value += unit;
    const std::string body = "--" + boundary +
                             "\r\nContent-Disposition: form-data; name=a\r\n\r\n" + value +
                             "x\r\n--" + boundary + "--";
    const std::vector<FormPart> parts = ReadMultipartForm(type, body);
    ASSERT_EQ(parts.size(), 1U);
    EXPECT_EQ(parts[0].value.size(), value.size() + 1);
  }
}

// Any bytes that do not hold the boundary come back as they are.
TEST(ReadMultipartForm, ValuesComeBack) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> values(random() % 5);
    std::string body;
    for (std::string& value : values) {
      value.resize(random() % 300);
      for (char& byte : value) byte = "\r\n-xyz\0\xFF"[random() % 8];
      while (value.find("\r\n--xyz") != std::string::npos) value.pop_back();
      body += Part("n", value);
    }
    body += "--xyz--\r\n";
    std::vector<std::string> found;
    for (const FormPart& part : ReadMultipartForm(kType, body)) found.emplace_back(part.value);
    EXPECT_EQ(found, values);
  }
}

}  // namespace
}  // namespace runnel::server
