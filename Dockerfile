# Heed in a container: built from source by the same scripts as on a machine, then only what runs.
#   docker build -t heed .
#   docker run -p 50051:50051 -p 9464:9464 heed
#   docker run -p 50051:50051 -v /path/to/models:/models:ro -e HEED_MODEL=mine=/models/mine heed
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS build
WORKDIR /src
# Its own layer: a change of the sources installs nothing again.
COPY deploy/install-deps.sh deploy/lib.sh deploy/pins.txt deploy/
RUN deploy/install-deps.sh
COPY . .
RUN cmake --preset release -DHEED_BUILD_TESTS=OFF -DCMAKE_INSTALL_PREFIX=/opt/heed \
 && cmake --build --preset release \
 && cmake --install build/release --strip \
 && deploy/fetch-model.sh /opt/heed/models/sentiment

FROM ${BASE}
COPY deploy/install-deps.sh deploy/lib.sh deploy/pins.txt /tmp/deploy/
RUN /tmp/deploy/install-deps.sh --runtime \
 && rm -rf /tmp/deploy /var/lib/apt/lists/* \
 && useradd --system --no-create-home heed
COPY --from=build /opt/heed /opt/heed
ENV PATH=/opt/heed/bin:$PATH \
    HEED_LISTEN=0.0.0.0:50051 \
    HEED_METRICS_LISTEN=0.0.0.0:9464 \
    HEED_MODEL=sentiment=/opt/heed/models/sentiment
USER heed
EXPOSE 50051 9464
# Answers SERVING once every model is loaded and warm.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["heed", "health"]
# SIGTERM drains; give `docker stop` at least the drain timeout (--time 35).
ENTRYPOINT ["heed-server"]
