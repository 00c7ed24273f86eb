// A call of Recognize: one recording, decoded by the code behind POST /v1/recognize.
#ifndef RUNNEL_TOOLS_SERVER_GRPC_RECOGNIZE_CALL_H_
#define RUNNEL_TOOLS_SERVER_GRPC_RECOGNIZE_CALL_H_

#include <boost/asio/io_context.hpp>

#include "tools/server/grpc/grpc_call.h"
#include "tools/server/riva/riva_config.h"

namespace runnel::server {

// Serves the call to its end. The result deletes itself after that.
grpc::ServerGenericBidiReactor* ServeRecognizeCall(CallContext context, const RivaModel& model,
                                                   boost::asio::io_context* io);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_GRPC_RECOGNIZE_CALL_H_
