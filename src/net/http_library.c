/* The version of libcurl, and whether it can sign requests. */
#include <curl/curl.h>

#include "net/http.h"

bool http_can_sign(void)
{
#if LIBCURL_VERSION_NUM >= 0x075600
        CURL *easy = curl_easy_init();
        bool can = easy && curl_version_info(CURLVERSION_NOW)->version_num >= 0x075600 &&
                   curl_easy_setopt(easy, CURLOPT_AWS_SIGV4, "aws:amz:region:service") == CURLE_OK;
        curl_easy_cleanup(easy);
        return can;
#else
        return false;
#endif
}

const char *http_library_version(void)
{
        return curl_version_info(CURLVERSION_NOW)->version;
}
